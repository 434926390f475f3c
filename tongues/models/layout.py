"""How a Hugging Face folder stores a model, and a trained model written back in the same way.

A model that reads more than text is trained by its text part alone. What is written has the base's
names and files; what was trained is in float32, all other weights are copied byte by byte.
"""

import json
import shutil
from collections import defaultdict
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor
from transformers import PreTrainedModel
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import (
    WeightConverter,
    WeightRenaming,
    rename_source_key,
    revert_weight_conversion,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from tongues.core.errors import UserError
from tongues.core.files import write_json, write_text
from tongues.models.folders import INDEX, other_files, read_config, stored_shapes, weight_files
from tongues.models.tensor_file import TensorFile


@dataclass(frozen=True, slots=True)
class ModelLayout:
    """A folder's model without memory for its weights, and where these are stored."""

    whole: PreTrainedModel
    model: PreTrainedModel  # its text part, or itself
    places: dict[str, str]  # stored name → name in the whole model
    converted: frozenset[str]  # stored names of weights that transformers splits or joins

    def stored(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Trained weights, by their names in the model, under the names they are stored by.

        A weight that is stored nowhere keeps its own name. Of a part of the weights, whole layers.
        """
        names = defaultdict[int, list[str]](list)
        for name, weight in self.whole.state_dict(keep_vars=True).items():
            names[id(weight)].append(name)
        own = self.model.state_dict(keep_vars=True)
        trained = {
            place: weights[name]
            for name in own
            if name in weights
            for place in names[id(own[name])]
        }
        found = {
            key: trained[place]
            for key, place in self.places.items()
            if place in trained and key not in self.converted
        }
        # Of tied weights one is stored; the others, and what is converted, are left.
        there = {id(weight) for weight in found.values()}
        left = {place: weight for place, weight in trained.items() if id(weight) not in there}
        prefix = f"{self.whole.base_model_prefix}."
        for name, weight in revert_weight_conversion(self.whole, left).items():
            bare = name.removeprefix(prefix)
            key = next((k for k in (name, bare, prefix + name) if k in self.places), name)
            found[key] = weight
        return found


def describe_layout(folder: Path, whole: PreTrainedModel) -> ModelLayout:
    """The layout of a folder by its headers; whole: its model, on the meta device.

    A UserError where a weight of the text part is stored nowhere, or in another shape.
    """
    shapes, own = stored_shapes(folder), whole.state_dict()
    rules = get_model_conversion_mapping(whole)
    renamings = [rule for rule in rules if isinstance(rule, WeightRenaming)]
    converters = [rule for rule in rules if isinstance(rule, WeightConverter)]
    places: dict[str, str] = {}
    converted: set[str] = set()
    for key in shapes:
        place, pattern = rename_source_key(key, renamings, converters, whole.base_model_prefix, own)
        if place not in own and key in own:
            place, pattern = key, None
        places[key] = place
        converted |= {key} if pattern else set()
    used: Any = [rule for rule in rules if rule.was_used()]
    whole._weight_conversions = used  # as loading does, for the way back
    layout = ModelLayout(whole, text_part(whole), places, frozenset(converted))
    _check_shapes(folder, layout, shapes)
    return layout


def _check_shapes(folder: Path, layout: ModelLayout, shapes: dict[str, tuple[int, ...]]) -> None:
    """Refuse files of other shapes, or of fewer weights, than config.json has."""
    wanted = layout.stored(layout.model.state_dict())
    hint = "copy config.json and weights from one place"
    missing = sorted(wanted.keys() - shapes.keys())
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        what = f"its weights are not those of its config.json: `{missing[0]}`{more} missing"
        raise UserError(what, where=str(folder), hint=hint)
    for name, weight in wanted.items():
        if shapes[name] != tuple(weight.shape):
            there, by_config = (" x ".join(map(str, x)) for x in (shapes[name], weight.shape))
            what = f"`{name}` is {there} in the files and {by_config} by config.json"
            raise UserError(what, where=str(folder), hint=hint)


def text_part(whole: PreTrainedModel) -> PreTrainedModel:
    """The causal model of text in a model that reads more: the same weights, not a copy."""
    config: Any = whole.config.get_text_config()
    kind: Any = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    if config is whole.config:
        return whole
    for module in whole.modules():
        if type(module) is kind and isinstance(module, PreTrainedModel):
            return module
    ends: Any = whole.get_input_embeddings(), whole.get_output_embeddings()
    config.tie_word_embeddings = ends[0].weight is ends[1].weight
    with torch.device("meta"):
        model: Any = kind(config)
    body = next(module for module in whole.modules() if type(module) is type(model.base_model))
    setattr(model, model.base_model_prefix, body)
    model.set_output_embeddings(ends[1])
    model.generation_config = whole.generation_config
    return model.train(whole.training)


def write_like(
    model: PreTrainedModel,
    base: Path,
    layout: ModelLayout,
    directory: Path,
    groups: Iterable[dict[str, Tensor]],
) -> None:
    """Write a trained model as the base's folder has it: names, files, settings.

    groups: its weights by name, a layer or more at a time. What was trained keeps its type, all
    else is the base's; the vocabulary may have more rows.
    """
    empty = {
        name: torch.empty(weight.shape, dtype=weight.dtype, device="meta")
        for name, weight in model.state_dict().items()
    }
    trained, size, files = layout.stored(empty), 0, dict[str, TensorFile]()
    with ExitStack() as opened:
        for file in weight_files(base):
            with safe_open(file, framework="pt") as stored:
                about, keys = stored.metadata() or {"format": "pt"}, list(stored.keys())
                kept = {k: stored.get_tensor(k) for k in keys if k not in trained}
            contents = {k: trained[k] if k in trained else kept[k] for k in keys}
            shapes = {key: (weight.dtype, weight.shape) for key, weight in contents.items()}
            size += sum(weight.nbytes for weight in contents.values())
            written = opened.enter_context(TensorFile(directory / file.name, shapes, about))
            for key, weight in kept.items():
                written.write(key, weight)
            files |= dict.fromkeys(keys, written)
            del kept, contents
        for group in groups:
            for key, weight in layout.stored(group).items():
                if key in files:
                    files[key].write(key, weight)
    if (base / INDEX).is_file():
        index = json.loads((base / INDEX).read_text(encoding="utf-8"))
        index["metadata"] = index.get("metadata", {}) | {"total_size": size}
        write_json(directory / INDEX, index)
    rows = len(model.get_input_embeddings().get_parameter("weight"))
    settings = _settings(base, layout, rows, str(model.dtype).removeprefix("torch."))
    write_text(directory / "config.json", json.dumps(settings, indent=2, ensure_ascii=False) + "\n")
    for file in other_files(base):
        shutil.copyfile(file, directory / file.name)


def _settings(base: Path, layout: ModelLayout, rows: int, dtype: str) -> dict[str, Any]:
    """The base's config.json with this many rows and this storage type."""
    config, text = read_config(base), layout.whole.config.get_text_config()
    parts = {key: value for key, value in config.items() if isinstance(value, dict)}
    inner = (part for key, part in parts.items() if getattr(layout.whole.config, key, 0) is text)
    places = [config, *inner]
    for place in places:
        if place.pop("torch_dtype", place.get("dtype")) or place is config:
            place["dtype"] = dtype
        if "vocab_size" in place or (place is places[-1] and rows != text.vocab_size):
            place["vocab_size"] = rows
    return config
