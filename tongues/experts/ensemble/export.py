"""An ensemble as a folder that stands by itself, or as one model: the mean of its experts."""

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tongues.experts.ensemble.average import average_experts, mean_shares
from tongues.experts.ensemble.card import (
    write_average_card,
    write_ensemble_card,
    write_expert_card,
)
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
from tongues.train.card import add_sections
from tongues.train.export import copy_files, copy_model, new_folder

__all__ = ["Told", "export_average", "export_ensemble"]

# What the newest evaluation found of a run, an ensemble or a model, by its folder; or nothing.
Told = Callable[[Path], str]


def export_ensemble(
    folder: Path, workspace: Path, out: Path, *, evaluated: Told, laws: str = ""
) -> None:
    """Write an ensemble with all its experts to `out`, where it needs no workspace.

    Each expert lies in a Hugging Face folder with its card; `ensemble.json` names them from its own
    folder on, so that the whole may be moved. laws: a section of the card of the whole. A UserError
    where anything is not as it was made.
    """
    with new_folder(out) as aside:
        name, lineage = _name(folder, workspace), read_lineage(folder)
        verify(lineage, folder, workspace)
        folders = _folders(lineage.names)
        for expert, own in zip(lineage.experts, folders, strict=True):
            (aside / own).mkdir()
            _copy_expert(expert, name, workspace, aside / own, evaluated)
        router = None
        if lineage.router:
            shutil.copyfile(folder / lineage.router.file, aside / ROUTER)
            router = load_router(aside / ROUTER)
        moved = replace(
            lineage,
            experts=tuple(
                replace(expert, folder=f"./{own}", run=None)
                for expert, own in zip(lineage.experts, folders, strict=True)
            ),
            router=router_file(aside / ROUTER) if router else None,
        )
        write_lineage(moved, aside)
        write_ensemble_card(aside, name, lineage, folders, router, workspace)
        add_sections(aside, laws, evaluated(folder))


def export_average(
    folder: Path,
    workspace: Path,
    out: Path,
    *,
    evaluated: Told,
    weights: Sequence[float] | None = None,
    laws: str = "",
) -> None:
    """Write the weighted mean of an ensemble's experts to `out`, a Hugging Face folder with a card.

    weights: of the experts in their order; equal if left out.
    """
    with new_folder(out) as aside:
        name, lineage = _name(folder, workspace), read_lineage(folder)
        shares = mean_shares(weights, len(lineage.experts))
        verify(lineage, folder, workspace)
        places = [expert_folder(expert, workspace) for expert in lineage.experts]
        runs = {e.name: _run_of(e, place) for e, place in zip(lineage.experts, places, strict=True)}
        records = {expert: read_run(run) for expert, run in runs.items() if run}
        average_experts(places, aside, weights)
        told = evaluated(aside)
        write_average_card(aside, name, lineage, shares, records, workspace, measured=bool(told))
        add_sections(aside, laws, told)


def _name(folder: Path, workspace: Path) -> str:
    """Of an ensemble in the store, or of one elsewhere, its folder's."""
    store, whole = (workspace / "ensembles").resolve(), folder.resolve()
    return str(whole.relative_to(store)) if whole.is_relative_to(store) else whole.name


def _folders(names: Sequence[str]) -> list[str]:
    """A folder's name for each expert: the last part of its own where that tells them apart."""
    short = Counter(name.rpartition("/")[2].casefold() for name in names)
    said = names if max(short.values()) > 1 else [name.rpartition("/")[2] for name in names]
    return [file_name(name) for name in said]


def _copy_expert(
    expert: Expert, ensemble: str, workspace: Path, folder: Path, evaluated: Told
) -> None:
    place = expert_folder(expert, workspace)
    run = _run_of(expert, place)
    if run:
        copy_model(run, workspace, folder)
        add_sections(folder, evaluated(run))
        return
    copy_files(place, folder)
    if not (folder / CARD).is_file():
        write_expert_card(folder, expert, ensemble, workspace)


def _run_of(expert: Expert, place: Path) -> Path | None:
    """The directory of the run that an expert is, if that is whole and lies there."""
    directory = place.parent
    if place.name == "model" and (directory / "run.json").is_file():
        with suppress(ValueError, KeyError):
            return directory if read_run(directory).run == expert.run else None
    return None
