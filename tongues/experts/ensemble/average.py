"""Experts averaged into one model, which costs what one of them costs."""

import shutil
from collections.abc import Sequence
from math import inf
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from tongues.errors import UserError
from tongues.experts.ensemble.opened import mapped_weights
from tongues.tokens import tokenizer_files

__all__ = ["average_experts", "mean_shares"]


def average_experts(
    experts: Sequence[Path], folder: Path, weights: Sequence[float] | None = None
) -> None:
    """Write the weighted mean of experts of one shape into an empty folder, as Hugging Face does.

    experts: their folders; configuration and tokenizer are the first one's. weights: of any sum,
    none below 0; equal if left out.
    """
    shares = mean_shares(weights, len(experts))
    stored = [mapped_weights(expert) for expert in experts]
    for expert, tensors in zip(experts, stored, strict=True):
        odd = [
            n for n in stored[0].keys() | tensors.keys() if _kind(stored[0], n) != _kind(tensors, n)
        ]
        if odd:
            what = f"`{min(odd)}` is another one than in {experts[0]}"
            hint = "only experts of one shape can be averaged"
            raise UserError(what, where=str(expert), hint=hint)
    mean = {name: _mean([each[name] for each in stored], shares) for name in stored[0]}
    save_file(mean, folder / "model.safetensors", metadata={"format": "pt"})
    settings = (experts[0] / name for name in ("config.json", "generation_config.json"))
    own = [file for file in settings if file.is_file()]
    for file in dict.fromkeys([*own, *tokenizer_files(experts[0])]):
        shutil.copyfile(file, folder / file.name)


def mean_shares(weights: Sequence[float] | None, count: int) -> list[float]:
    """What each of `count` experts counts for in the mean; they add up to 1."""
    if weights is None:
        return [1 / count] * count
    if len(weights) != count:
        hint = "name one for each expert, in their order"
        raise UserError(f"{len(weights)} of them for {count} experts", where="weights", hint=hint)
    if not all(0 <= weight < inf for weight in weights) or not any(weights):
        what, hint = "are no numbers of 0 or more, one above 0", "such as `2,1`"
        raise UserError(what, where="weights", hint=hint)
    return [weight / sum(weights) for weight in weights]


def _mean(tensors: list[Tensor], shares: list[float]) -> Tensor:
    """The weighted mean, summed in float64; counts and the like are the first one's."""
    if not tensors[0].is_floating_point():
        return tensors[0].clone()
    total = torch.zeros(tensors[0].shape, dtype=torch.float64)
    for tensor, share in zip(tensors, shares, strict=True):
        total += share * tensor.double()
    return total.to(tensors[0].dtype)


def _kind(tensors: dict[str, Tensor], name: str) -> tuple[object, ...] | None:
    return (tensors[name].shape, tensors[name].dtype) if name in tensors else None
