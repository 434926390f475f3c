"""Models of Hugging Face folders to predict with, their weights mapped from their files.

A model stored in float32 takes no memory until its pages are read, and opens in milliseconds.
"""

from collections.abc import Sequence
from math import prod
from pathlib import Path

from safetensors import safe_open
from torch import Tensor
from transformers import PreTrainedModel

from tongues.core.errors import UserError
from tongues.core.hardware import this_machine
from tongues.core.quantities import show_bytes
from tongues.models.folders import stored_shapes, weight_files
from tongues.models.huggingface import configure, load_model, open_layout


def count_weights(folder: Path, files: Sequence[Path] | None = None) -> int:
    """Weights in a Hugging Face folder, or in these files."""
    if files is None:
        return sum(map(prod, stored_shapes(folder).values()))
    count = 0
    for file in files:
        with safe_open(file, framework="pt") as stored:
            names = stored.keys()
            count += sum(prod(stored.get_slice(name).get_shape()) for name in names)
    return count


def map_model(folder: Path) -> PreTrainedModel:
    """The causal model of a Hugging Face folder in float32, to predict with."""
    # layers without weights would take hours to build
    layers: object = configure(folder).num_hidden_layers
    if isinstance(layers, int) and layers > len(stored_shapes(folder)):
        what = f"config.json names {layers:,} layers, and there are weights of fewer"
        raise UserError(what, where=str(folder), hint="copy both from one place")
    open_layout(folder)  # other shapes are refused before there is memory for any
    return load_model(folder, checked=False).requires_grad_(False)


def check_memory(folder: Path) -> None:
    """Refuse a model larger than this machine's memory, before its files are read.

    One in float32 is mapped and may be larger.
    """
    machine, needed = this_machine(), 4 * count_weights(folder)
    stored = sum(file.stat().st_size for file in weight_files(folder))
    if stored < needed > machine.memory:
        there = f"{machine.name} has {show_bytes(machine.memory)}"
        what = f"takes {show_bytes(needed)} of memory in float32; {there}"
        raise UserError(what, where=str(folder), hint="use it on a larger machine")


def mapped_weights(folder: Path) -> dict[str, Tensor]:
    """The stored tensors of a Hugging Face folder by name, mapped from their files."""
    stored_shapes(folder)  # damaged files are refused
    weights: dict[str, Tensor] = {}
    for file in weight_files(folder):
        with safe_open(file, framework="pt") as stored:
            names = stored.keys()
            weights |= {name: stored.get_tensor(name) for name in names}
    return weights
