"""Where a model's first weights come from, some rows at a time: files, or a random generator.

So each of several processes makes or reads its own share, and none has the whole model.
"""

import re
from collections import defaultdict
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import safe_open
from torch import Tensor
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import WeightConverter, dot_natural_key, rename_source_key

from tongues.core.errors import UserError
from tongues.models.anatomy import embedding_matrices
from tongues.models.folders import weight_files
from tongues.models.layout import ModelLayout
from tongues.models.token_map import TokenMap, row_sources

_FILLS = (Tensor.normal_, Tensor.uniform_, Tensor.zero_, Tensor.fill_)
_INITS = ("torch.nn.init", "transformers.initialization")

_ROWS = 4096  # of a matrix read at a time, where all of it is
_NO_WEIGHTS = (r"rotary_emb\.inv_freq", r"(^|\.)position_ids$")  # of older files, and never needed


class WeightSource(Protocol):
    """Gives rows of the model's weights and buffers, by their names in the model."""

    def rows(self, name: str, start: int = 0, stop: int | None = None) -> Tensor:
        """Rows from `start` to `stop`, on the CPU."""
        ...


class FolderWeights:
    """The weights of a Hugging Face folder, in float32; its files are mapped, not loaded.

    tokens: where the base's tokenizer does not have all tokens; rows are then those of the new
    tokenizer, as `resize_vocabulary` gives them, and `layout.model` gets as many.
    """

    def __init__(self, folder: Path, layout: ModelLayout, tokens: TokenMap | None) -> None:
        self.model, self._whole = layout.model, layout.whole
        self._files: dict[str, Path] = {}
        for file in weight_files(folder):
            with safe_open(file, framework="pt") as stored:
                self._files |= dict.fromkeys(stored.keys(), file)
        self._keys = defaultdict[str, list[str]](list)
        for key in sorted(layout.places, key=dot_natural_key):
            self._keys[layout.places[key]].append(key)
        whole, model = layout.whole.state_dict(keep_vars=True), layout.model
        _check_keys(folder, layout.whole, self._keys.keys() - whole.keys())
        self._groups = dict[str, str]()  # place of a converted weight → place of its conversion
        rules = get_model_conversion_mapping(layout.whole)
        self._converters = [rule for rule in rules if isinstance(rule, WeightConverter)]
        self._renamings: Any = [rule for rule in rules if not isinstance(rule, WeightConverter)]
        for first, keys in self._keys.items():
            if layout.converted.intersection(keys):
                targets = self._converter(keys[0])[0].target_patterns
                self._groups |= {first.replace(targets[0], target): first for target in targets}
        stored = self._keys.keys() | self._groups.keys()
        by_tensor = {id(whole[place]): place for place in stored if place in whole}
        own = model.state_dict(keep_vars=True)
        self._places = {n: by_tensor[id(w)] for n, w in own.items() if id(w) in by_tensor}
        self._last: dict[str, Tensor] = {}  # of the last conversion
        self._vocabulary: dict[str, Tensor | None] = {}  # names by rows; their mean, once known
        self.base_rows: list[Tensor] = []
        if tokens is not None:
            self._tokens = tokens
            self._resize(model, own)

    def rows(self, name: str, start: int = 0, stop: int | None = None) -> Tensor:
        """Rows of a weight, converted as transformers does where it is stored otherwise."""
        if name in self._vocabulary:
            return self._vocabulary_rows(name, start, stop)
        return self._stored_rows(name, start, stop).float()

    def _stored_rows(self, name: str, start: int = 0, stop: int | None = None) -> Tensor:
        place = self._places[name]
        if place in self._groups:
            if place not in self._last:
                self._last = self._convert(self._groups[place])
            tensor = self._last[place]
            return tensor[start:stop] if tensor.ndim else tensor
        (key,) = self._keys[place]
        with safe_open(self._files[key], framework="pt") as stored:
            part = stored.get_slice(key)
            return part[start:stop] if part.get_shape() else stored.get_tensor(key)

    def _converter(self, key: str) -> tuple[WeightConverter, str]:
        """What converts a stored weight, and by which of its patterns."""
        state, prefix = self._whole.state_dict(), self._whole.base_model_prefix
        _, pattern = rename_source_key(key, self._renamings, self._converters, prefix, state)
        by_pattern = {
            pattern: rule for rule in self._converters for pattern in rule.source_patterns
        }
        return by_pattern[str(pattern)], str(pattern)

    def _convert(self, first: str) -> dict[str, Tensor]:
        """The weights that transformers makes of those whose first target this is."""
        keys = self._keys[first]
        converter = deepcopy(self._converter(keys[0])[0])
        for key in keys:
            with safe_open(self._files[key], framework="pt") as stored:
                tensor: Any = stored.get_tensor(key)
            converter.add_tensor(first, key, self._converter(key)[1], tensor)
        made = converter.convert(first, model=self._whole, config=self._whole.config)
        return {name: w[0] if isinstance(w, list) else w for name, w in made.items()}

    def _resize(self, model: PreTrainedModel, own: dict[str, Tensor]) -> None:
        """Give the model, on the meta device, and what is read for it a row for every token."""
        matrices = embedding_matrices(model)
        before = len(matrices[0])
        self._source = row_sources(before, self._tokens)
        ends: list[Any] = [*matrices, getattr(model.get_output_embeddings(), "bias", None)]
        vocabulary = {name: None for name, w in own.items() if any(w is end for end in ends)}
        for matrix in matrices:
            rows = self._stored_rows(next(name for name, w in own.items() if w is matrix)).float()
            spare = max(0, self._tokens.base_size - len(rows))
            filled = torch.cat([rows, rows.mean(0).expand(spare, -1)]) if spare else rows
            self.base_rows.append(filled[: self._tokens.base_size])
        if len(self._source) != before:
            with torch.device("meta"):
                model.resize_token_embeddings(len(self._source), mean_resizing=False)
        self._vocabulary |= vocabulary

    def _vocabulary_rows(self, name: str, start: int, stop: int | None) -> Tensor:
        mean = self._vocabulary[name]
        if mean is None:
            size, total = self._tokens.base_size, 0.0
            count = 0
            for first in range(0, size, _ROWS):
                rows = self._stored_rows(name, first, min(first + _ROWS, size))
                total, count = total + rows.double().sum(0), count + len(rows)
            mean = self._vocabulary[name] = (torch.as_tensor(total) / count).float()
        source = self._source[start:stop]
        have = source >= 0
        made = mean.expand(len(source), *mean.shape).clone()
        if have.any():
            first, last = int(source[have].min()), int(source[have].max())
            made[have] = self._stored_rows(name, first, last + 1).float()[source[have] - first]
        return made


class DrawnWeights(TorchFunctionMode):
    """The random weights of a model that is built while this is entered; it has none itself.

    The generator goes the way that it goes with memory for the weights, so they are the same ones.
    """

    def __init__(self) -> None:
        super().__init__()
        self._draws: dict[int, tuple[Tensor, Callable[[Tensor], Tensor], Tensor]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = dict(kwargs or {})
        if func is torch.empty:
            return func(*args, **named | {"device": "meta"})
        if func in _FILLS or getattr(func, "__module__", "") in _INITS:
            target, given = (args[0], args[1:]) if args else (named.pop("tensor"), ())
            if target.is_meta:
                draw = partial(_fill, func, given, named)
                self._draws[id(target)] = target, draw, torch.get_rng_state()
                draw(torch.empty(target.shape))
                return target
            return func(target, *given, **named)
        return func(*args, **named)

    def name(self, model: PreTrainedModel) -> None:
        """Know the weights by their names in the finished model."""
        state = model.state_dict(keep_vars=True)
        self._own = {name: (self._draws.get(id(w)), w.detach()) for name, w in state.items()}

    def rows(self, name: str, start: int = 0, stop: int | None = None) -> Tensor:
        """Rows of a weight; all of it is drawn for them."""
        draw, real = self._own[name]
        if draw is None:
            return real[start:stop] if real.ndim else real
        target, function, state = draw
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(state)
            return function(torch.empty(target.shape))[start:stop]


def _fill(function: Any, given: Any, named: Any, tensor: Tensor) -> Tensor:
    return function(tensor, *given, **named)


def _check_keys(folder: Path, whole: PreTrainedModel, places: set[str]) -> None:
    """Refuse stored weights that have no place in the model."""
    own: Any = vars(whole).get("_keys_to_ignore_on_load_unexpected")
    ignored = [*(own or ()), *_NO_WEIGHTS]
    names = sorted(name for name in places if not any(re.search(form, name) for form in ignored))
    if names:
        what = f"its weights are not those of config.json: `{names[0]}` has no place in the model"
        raise UserError(what, where=str(folder), hint="copy both from one place")
