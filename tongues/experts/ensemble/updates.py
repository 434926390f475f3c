"""Experts that are low-rank updates of one base: in memory, the base is there once."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import linear
from transformers import PreTrainedModel

from tongues.core.errors import UserError
from tongues.core.files import read_json
from tongues.experts.ensemble.lineage import ADAPTER
from tongues.models.folders import stored_shapes
from tongues.runs.record import read_run
from tongues.train.base import base_fingerprint, find_base, model_folder

_PREFIX, _DOWN, _UP = "base_model.model.", ".lora_A.weight", ".lora_B.weight"  # as peft has them


@dataclass(frozen=True, slots=True)
class Updates:
    """A run's model as its base and what was added to that, in order."""

    base: Path  # a Hugging Face folder
    adapters: tuple[Path, ...]  # peft's folders


def find_updates(model: Path, workspace: Path) -> Updates | None:
    """What a run's `model` is an update of; None where it is not, or its base has changed."""
    directory, adapter = model.parent, model / Path(ADAPTER).parent
    if not ((directory / "run.json").is_file() and (model / ADAPTER).is_file()):
        return None
    with suppress(UserError, OSError, ValueError, KeyError):
        base, config = read_run(directory).base, read_json(adapter / "adapter_config.json")
        if base is None or config["use_dora"] or config.get("target_parameters"):
            return None
        there = find_base(base.pinned, workspace)
        if there is None or base_fingerprint(there) != base.fingerprint:
            return None
        folder = model_folder(there)
        before = find_updates(folder, workspace) or Updates(folder, ())
        shapes, own = stored_shapes(before.base), stored_shapes(model)
        same = all(own.get(name) == shape for name, shape in shapes.items())
        return Updates(before.base, (*before.adapters, adapter.resolve())) if same else None
    return None


def with_updates(base: PreTrainedModel, adapters: Sequence[Path]) -> PreTrainedModel:
    """A model that shares its weights with `base`, but for the updates in peft's folders."""
    weights = chain(base.parameters(), base.buffers())
    model = deepcopy(base, {id(weight): weight for weight in weights})
    for folder in adapters:
        config = read_json(folder / "adapter_config.json")
        _update(model, load_file(folder / "adapter_model.safetensors"), config)
    model.tie_weights()
    return model.requires_grad_(False).eval()


def _update(model: nn.Module, stored: Mapping[str, Tensor], config: Mapping[str, Any]) -> None:
    like = next(model.parameters())
    tensors = {name.removeprefix(_PREFIX): tensor.to(like) for name, tensor in stored.items()}
    for name, tensor in tensors.items():
        if name.endswith(_DOWN):
            module, scale = name.removesuffix(_DOWN), config["lora_alpha"] / config["r"]
            place, _, last = module.rpartition(".")
            up = tensors[module + _UP]
            low = _LowRank(model.get_submodule(module), tensor, up, scale)
            setattr(model.get_submodule(place), last, low)
        elif not name.endswith(_UP):  # embeddings, trained whole
            place, _, last = name.rpartition(".")
            setattr(model.get_submodule(place), last, nn.Parameter(tensor, requires_grad=False))


class _LowRank(nn.Module):
    """A layer with an update added to what it gives."""

    def __init__(self, inner: nn.Module, down: Tensor, up: Tensor, scale: float) -> None:
        super().__init__()
        self.inner, self.scale = inner, scale  # the scaled matrix would be held besides the file's
        self.down = nn.Parameter(down, requires_grad=False)
        self.up = nn.Parameter(up, requires_grad=False)

    def forward(self, states: Tensor) -> Tensor:
        return self.inner(states) + linear(linear(states, self.down) * self.scale, self.up)
