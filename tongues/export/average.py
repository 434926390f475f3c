"""Means of models of one base: of a run's own milestones, or of experts."""

import shutil
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import PreTrainedModel

from tongues.errors import UserError
from tongues.experts.ensemble.mapped import mapped_weights
from tongues.models.huggingface import load_model
from tongues.runs import read_run
from tongues.tokens import tokenizer_files
from tongues.train.checkpoint import list_checkpoints, step_of
from tongues.train.engine.sharding import kept_buffers
from tongues.train.parts import checkpoint_model

__all__ = ["average_experts", "average_milestones", "copy_settings", "expert_shares"]
__all__ += ["mean_of", "mean_tensor", "milestones", "same_tensors"]


def milestones(directory: Path, last: int | None, step: int | None = None) -> dict[int, Path]:
    """The milestones of a run by step, and its end where it is finished; a UserError if under two.

    last: how many, from the end; None: all. step: the last that counts; None: any.
    """
    run = read_run(directory)
    places = {step_of(x): x for x in list_checkpoints(directory / "checkpoints")}
    kept = {at: place for at, place in places.items() if place.name.startswith("milestone-")}
    if run.status == "finished":
        kept[run.steps] = directory / "model"
    there = sorted(at for at in kept if step is None or at <= step)
    wanted = there[-last:] if last else there
    if len(wanted) < max(2, last or 2):
        shown = ", ".join(map(str, there)) or "none"
        what = f"has too few milestones to average (of steps: {shown})"
        hint = "`train.milestones: [70%, 80%, 90%]` keeps some; its end is one more"
        raise UserError(what, where=str(directory), hint=hint)
    return {at: kept[at] for at in wanted}


def average_milestones(places: Sequence[Path], workspace: Path) -> PreTrainedModel:
    """The mean of checkpoints and folders, in float32; two of them are in memory at once."""
    return mean_of(
        load_model(place) if place.name == "model" else checkpoint_model(place, workspace)
        for place in places
    )


@torch.no_grad()
def mean_of(models: Iterator[PreTrainedModel]) -> PreTrainedModel:
    """The mean of models of one shape, in float32; it is the first one, changed.

    A running mean, so that each may go before the next comes.
    """
    mean = next(models).float()
    for count, model in enumerate(models, start=2):
        own = _tensors(mean)
        for name, weight in _tensors(model).items():
            if weight.is_floating_point():
                own[name] += (weight - own[name]) / count
            else:
                own[name].copy_(weight)
        del model
    return mean


def _tensors(model: PreTrainedModel) -> dict[str, Tensor]:
    """Every weight once, tied ones too, and the buffers that are kept."""
    return {**dict(model.named_parameters()), **kept_buffers(model)}


def average_experts(
    experts: Sequence[Path], folder: Path, weights: Sequence[float] | None = None
) -> None:
    """Write the weighted mean of experts of one shape into an empty folder, as Hugging Face does.

    experts: their folders; configuration and tokenizer are the first one's. weights: of any sum,
    none below 0; equal if left out.
    """
    shares, stored = expert_shares(weights, len(experts)), same_tensors(experts)
    mean = {name: mean_tensor([x[name] for x in stored], shares) for name in stored[0]}
    save_file(mean, folder / "model.safetensors", metadata={"format": "pt"})
    copy_settings(experts[0], folder, "config.json")


def same_tensors(experts: Sequence[Path]) -> list[dict[str, Tensor]]:
    """The tensors of each expert by name, mapped; a UserError where experts differ in shape."""
    stored = [mapped_weights(expert) for expert in experts]
    kinds = [{name: (w.shape, w.dtype) for name, w in tensors.items()} for tensors in stored]
    for expert, own in zip(experts, kinds, strict=True):
        odd = {name for name, _ in kinds[0].items() ^ own.items()}
        if odd:
            what = f"`{min(odd)}` is another one than in {experts[0]}"
            hint = "only experts of one shape can become one model"
            raise UserError(what, where=str(expert), hint=hint)
    return stored


def mean_tensor(tensors: Sequence[Tensor], shares: Sequence[float]) -> Tensor:
    """The weighted mean, rounded once; of whole numbers the first."""
    if not tensors[0].is_floating_point():
        return tensors[0].clone()
    total = torch.zeros(tensors[0].shape, dtype=torch.float64)
    for tensor, share in zip(tensors, shares, strict=True):
        total += share * tensor.double()
    return total.to(tensors[0].dtype)


def expert_shares(weights: Sequence[float] | None, count: int) -> list[float]:
    """Weights of experts in a mean, with a sum of 1; equal if left out."""
    if weights is None:
        return [1 / count] * count
    if len(weights) != count:
        hint = "name one for each expert, in their order"
        raise UserError(f"{len(weights)} of them for {count} experts", where="weights", hint=hint)
    if not all(0 <= weight < inf for weight in weights) or not any(weights):
        what, hint = "must be numbers of 0 or more, one of them above 0", "such as `2,1`"
        raise UserError(what, where="weights", hint=hint)
    return [weight / sum(weights) for weight in weights]


def copy_settings(expert: Path, folder: Path, *names: str) -> None:
    """Copy an expert's tokenizer, its settings of generation, and these files."""
    settings = (expert / name for name in ("generation_config.json", *names))
    own = [file for file in settings if file.is_file()]
    for file in dict.fromkeys([*own, *tokenizer_files(expert)]):
        shutil.copyfile(file, folder / file.name)
