"""An ensemble as a folder that needs no workspace, or as one model: the mean of its experts."""

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from tongues.errors import UserError
from tongues.experts.ensemble.card import write_average_card, write_ensemble_card, write_expert_card
from tongues.experts.ensemble.ensemble import mapped_weights
from tongues.experts.ensemble.lineage import (
    ROUTER,
    Expert,
    expert_folder,
    read_lineage,
    router_file,
    verify,
    write_lineage,
)
from tongues.experts.ensemble.router import load_router
from tongues.files import file_name
from tongues.pages import CARD
from tongues.runs import read_run
from tongues.tokens import tokenizer_files
from tongues.train.card import add_sections
from tongues.train.export import copy_files, copy_model, new_folder
from tongues.train.metadata import CardScores

__all__ = ["Evaluated", "average_experts", "export_average", "export_ensemble"]

# The newest evaluation of a run, an ensemble or a model, by its folder, as a card has it.
Evaluated = Callable[[Path], CardScores]


def export_ensemble(
    folder: Path, workspace: Path, out: Path, *, evaluated: Evaluated, laws: str = ""
) -> None:
    """Write an ensemble with all its experts to `out`, where it needs no workspace.

    Each expert is in a Hugging Face folder with its card; `ensemble.json` names them from its own
    folder on, so that the whole may be moved. laws: a section of the card of the whole. A UserError
    where anything is not as it was made.
    """
    with new_folder(out) as aside:
        name, lineage = _name(folder, workspace), read_lineage(folder)
        verify(lineage, folder, workspace)
        short = [name.rpartition("/")[2] for name in lineage.names]
        twice = max(Counter(map(str.casefold, short)).values()) > 1
        folders = [file_name(name) for name in (lineage.names if twice else short)]
        for expert, own in zip(lineage.experts, folders, strict=True):
            place, copied = expert_folder(expert, workspace), aside / own
            copied.mkdir()
            run = _run_of(expert, place)
            if run:
                copy_model(run, workspace, copied)
                _add_scores(copied, evaluated(run))
                continue
            copy_files(place, copied)
            if not (copied / CARD).is_file():
                write_expert_card(copied, expert, name, workspace)
        router = None
        if lineage.router:
            shutil.copyfile(folder / lineage.router.file, aside / ROUTER)
            router = load_router(aside / ROUTER)
        moved = tuple(
            replace(expert, folder=f"./{own}", run=None)
            for expert, own in zip(lineage.experts, folders, strict=True)
        )
        file = router_file(aside / ROUTER) if router else None
        write_lineage(replace(lineage, experts=moved, router=file), aside)
        write_ensemble_card(aside, name, lineage, folders, router, workspace)
        _add_scores(aside, evaluated(folder), laws)


def export_average(
    folder: Path,
    workspace: Path,
    out: Path,
    *,
    evaluated: Evaluated,
    weights: Sequence[float] | None = None,
    laws: str = "",
    finish: Callable[[Path], Sequence[str]] = lambda folder: (),
) -> None:
    """Write the weighted mean of an ensemble's experts to `out`, a Hugging Face folder with a card.

    weights: of the experts in their order; equal if left out. finish: changes the folder; what the
    card says of that.
    """
    with new_folder(out) as aside:
        name, lineage = _name(folder, workspace), read_lineage(folder)
        shares = _shares(weights, len(lineage.experts))
        verify(lineage, folder, workspace)
        places = [expert_folder(expert, workspace) for expert in lineage.experts]
        runs = {e.name: _run_of(e, place) for e, place in zip(lineage.experts, places, strict=True)}
        records = {expert: read_run(run) for expert, run in runs.items() if run}
        average_experts(places, aside, weights)
        notes = finish(aside)
        scores = evaluated(aside)
        write_average_card(
            aside, name, lineage, shares, records, workspace, measured=bool(scores.section)
        )
        _add_scores(aside, scores, *notes, laws)


def average_experts(
    experts: Sequence[Path], folder: Path, weights: Sequence[float] | None = None
) -> None:
    """Write the weighted mean of experts of one shape into an empty folder, as Hugging Face does.

    experts: their folders; configuration and tokenizer are the first one's. weights: of any sum,
    none below 0; equal if left out.
    """
    shares = _shares(weights, len(experts))
    stored = [mapped_weights(expert) for expert in experts]
    kinds = [{name: (w.shape, w.dtype) for name, w in tensors.items()} for tensors in stored]
    for expert, own in zip(experts, kinds, strict=True):
        odd = {name for name, _ in kinds[0].items() ^ own.items()}
        if odd:
            what = f"`{min(odd)}` is another one than in {experts[0]}"
            hint = "only experts of one shape can be averaged"
            raise UserError(what, where=str(expert), hint=hint)
    mean = {name: _mean([tensors[name] for tensors in stored], shares) for name in stored[0]}
    save_file(mean, folder / "model.safetensors", metadata={"format": "pt"})
    settings = (experts[0] / name for name in ("config.json", "generation_config.json"))
    own = [file for file in settings if file.is_file()]
    for file in dict.fromkeys([*own, *tokenizer_files(experts[0])]):
        shutil.copyfile(file, folder / file.name)


def _add_scores(folder: Path, own: CardScores, *sections: str) -> None:
    add_sections(folder, *sections, own.section, scores=own.scores)


def _mean(tensors: Sequence[Tensor], shares: Sequence[float]) -> Tensor:
    if not tensors[0].is_floating_point():
        return tensors[0].clone()
    total = torch.zeros(tensors[0].shape, dtype=torch.float64)
    for tensor, share in zip(tensors, shares, strict=True):
        total += share * tensor.double()
    return total.to(tensors[0].dtype)


def _shares(weights: Sequence[float] | None, count: int) -> list[float]:
    if weights is None:
        return [1 / count] * count
    if len(weights) != count:
        hint = "name one for each expert, in their order"
        raise UserError(f"{len(weights)} of them for {count} experts", where="weights", hint=hint)
    if not all(0 <= weight < inf for weight in weights) or not any(weights):
        what, hint = "must be numbers of 0 or more, one of them above 0", "such as `2,1`"
        raise UserError(what, where="weights", hint=hint)
    return [weight / sum(weights) for weight in weights]


def _name(folder: Path, workspace: Path) -> str:
    """Of an ensemble in the store, or of one elsewhere, its folder's."""
    store, whole = (workspace / "ensembles").resolve(), folder.resolve()
    return str(whole.relative_to(store)) if whole.is_relative_to(store) else whole.name


def _run_of(expert: Expert, place: Path) -> Path | None:
    directory = place.parent
    if place.name == "model" and (directory / "run.json").is_file():
        with suppress(ValueError, KeyError):
            return directory if read_run(directory).run == expert.run else None
    return None
