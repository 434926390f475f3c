"""Experts opened when they are first needed, their weights mapped from their files.

A mapped model takes no memory until its pages are read, and opens in milliseconds.
"""

from collections import OrderedDict
from collections.abc import Sequence
from math import prod
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, PreTrainedModel
from transformers.initialization import no_init_weights

from tongues.models.folders import stored_shapes, weight_files
from tongues.models.huggingface import configure, load_model

__all__ = ["Opened", "map_model", "mapped_weights"]


class Opened:
    """The experts' models by number; the least recently used are let go of above a limit.

    memory: bytes of weights to hold at most, though never fewer than one model; None: any.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        memory: int | None = None,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> None:
        self.folders, self.memory, self.device = tuple(folders), memory, torch.device(device)
        self.dtype: torch.dtype = getattr(torch, dtype)
        self._models: OrderedDict[int, PreTrainedModel] = OrderedDict()
        size = self.dtype.itemsize
        self.bytes = tuple(size * _weights(folder) for folder in folders)  # that each takes, open

    def __len__(self) -> int:
        """How many experts there are, opened or not."""
        return len(self.folders)

    def __getitem__(self, number: int) -> PreTrainedModel:
        """An expert, opened now if it was not."""
        if number not in self._models:
            self._make_room(self.bytes[number])
            model = map_model(self.folders[number])
            nn.Module.to(model, self.device, self.dtype)
            self._models[number] = model
        self._models.move_to_end(number)
        return self._models[number]

    @property
    def held(self) -> tuple[int, ...]:
        """The experts that are open, the least recently used first."""
        return tuple(self._models)

    def _make_room(self, needed: int) -> None:
        if self.memory is None:
            return
        while self._models and needed + sum(self.bytes[n] for n in self._models) > self.memory:
            self._models.popitem(last=False)


def map_model(folder: Path) -> PreTrainedModel:
    """The causal model of a Hugging Face folder in float32, to predict with.

    Its weights are mapped where they lie in the file as the model wants them, and read otherwise.
    """
    weights = mapped_weights(folder)
    with no_init_weights():  # buffers are computed, weights are room that nobody touches
        model = AutoModelForCausalLM.from_config(configure(folder), dtype=torch.float32)
    if not _assigned(model, weights):
        model = load_model(folder)
    return model.requires_grad_(False).eval()


def mapped_weights(folder: Path) -> dict[str, Tensor]:
    """The stored tensors of a Hugging Face folder by name, mapped from their files."""
    stored_shapes(folder)  # damaged files are refused
    weights: dict[str, Tensor] = {}
    for file in weight_files(folder):
        with safe_open(file, framework="pt") as stored:
            names = stored.keys()
            weights |= {name: stored.get_tensor(name) for name in names}
    return weights


def _weights(folder: Path) -> int:
    """The number of weights."""
    return sum(prod(shape) for shape in stored_shapes(folder).values())


def _assigned(model: PreTrainedModel, weights: dict[str, Tensor]) -> bool:
    """Put the weights in place; False where one lacks, is left over, or is of another kind."""
    if any(w.is_floating_point() and w.dtype != torch.float32 for w in weights.values()):
        return False
    try:
        left = model.load_state_dict(weights, strict=False, assign=True)
    except RuntimeError:  # of other shapes
        return False
    model.tie_weights()
    names = dict(model.named_parameters(remove_duplicate=False)) | dict(model.named_buffers())
    there = {id(names[name]) for name in weights if name in names}
    tied = all(id(names[name]) in there for name in left.missing_keys)
    return tied and not left.unexpected_keys
