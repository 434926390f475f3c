"""The mean of a run's own milestones, which often is better than its end."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedModel

from tongues.errors import UserError
from tongues.models.huggingface import load_model
from tongues.runs import read_run
from tongues.train.checkpoint import list_checkpoints, step_of
from tongues.train.engine.sharding import kept_buffers
from tongues.train.parts import checkpoint_model

__all__ = ["average_milestones", "mean_of", "milestones"]


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
