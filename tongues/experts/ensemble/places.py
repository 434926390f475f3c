"""Where a model is that a user names, and what it came of; none is opened, without torch."""

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from tongues.core.errors import UserError, nearest
from tongues.core.files import files_named, path_text
from tongues.core.hub import hub_folder, is_hub_id, local
from tongues.core.roles import Roles
from tongues.experts.ensemble.lineage import ENSEMBLE, Expert, Lineage, read_lineage
from tongues.recipe import training_command
from tongues.runs.record import read_run
from tongues.train.base import model_folder

Kind = Literal["run", "folder", "ensemble"]

_MISTYPED = 0.85  # similarity to a name of this workspace, from which the hub is not asked


def find_model(name: str, workspace: Path, *, hub: bool = True) -> tuple[Kind, Path]:
    """An ensemble or run by name or path, a folder, or a model of the hub: its kind and place.

    A run's place is its directory. hub: whether a model may be fetched from there.
    """
    if found := _find_here(name, workspace):
        return found
    store, runs = workspace / "ensembles", workspace / "runs"
    begun = (runs / name / "run.json").is_file()
    routed = _find_here(name.partition("@")[0], workspace)  # what is behind the `@` is a routing
    mistyped = get_close_matches(name, _names(store, runs), n=1, cutoff=_MISTYPED)
    trained = training_command(name, workspace)
    not_hub = begun or routed or mistyped or trained or not hub
    folder = None if not_hub else hub_folder(name, store, runs)
    if folder:
        return "folder", folder
    raise _unknown(name, store, runs, trained)


def _find_here(name: str, workspace: Path) -> tuple[Kind, Path] | None:
    store, runs = workspace / "ensembles", workspace / "runs"
    for folder in (store / name, Path(name)):
        if (folder / ENSEMBLE).is_file():
            return "ensemble", folder
    for folder in (runs / name, Path(name)):
        if (model_folder(folder) / "config.json").is_file():
            directory = folder.resolve().parent if folder.name == "model" else folder
            return ("run", directory) if (directory / "run.json").is_file() else ("folder", folder)
    return None


def _unknown(name: str, store: Path, runs: Path, trained: str) -> UserError:
    if (runs / name / "run.json").is_file():
        hint = "`tongues ls` shows its state; train it to its end first"
        return UserError(f"run `{name}` has no model yet", where=str(runs / name), hint=hint)
    names = _names(store, runs)
    what = f"there is no ensemble, run or model folder `{name}`"
    hint = nearest(name, names)
    if trained:
        hint = f"`{trained}` trains it"
    elif not names:
        hint = "`--workspace` names another folder of runs and ensembles"
    return UserError(what, where=str(runs.parent.resolve()), hint=hint)


def _names(store: Path, runs: Path) -> list[str]:
    names = [str(file.parent.relative_to(store)) for file in files_named(store, ENSEMBLE)]
    return names + [str(file.parent.relative_to(runs)) for file in files_named(runs, "run.json")]


def place_of(name: str, workspace: Path) -> tuple[Path, str | None]:
    """Where a model is, and the routing behind its name; none is opened."""
    _, folder, _, way = resolve_model(name, workspace)
    return folder.resolve(), way


def stored_base(name: str, workspace: Path) -> str | None:
    """The run or folder that a model started from, if it is there; none is opened."""
    kind, folder, _, _ = resolve_model(name, workspace)
    base = base_of(kind, folder)
    if base is None or _find_here(base, workspace):
        return base
    return base if is_hub_id(base) and local(base) else None


def lineage_of(name: str, workspace: Path) -> Lineage:
    """The runs that a model came of, whose text it knows; none is opened."""
    kind, folder, plain, _ = resolve_model(name, workspace)
    if kind == "ensemble":
        return read_lineage(folder)
    runs: list[Expert] = []
    while kind == "run":
        record = read_run(folder)
        run, base = record.run, record.base_model
        runs.append(Expert(run, path_text(folder), {}, record.shares, base, run, 0))
        folder = workspace / "runs" / (base or "")
        kind = "run" if base and (folder / "run.json").is_file() else "folder"
    return Lineage(tuple(runs), {}, plain, "", None, {})


def base_of(kind: Kind, folder: Path) -> str | None:
    """The run or folder that a model started from, as it was named."""
    if kind == "run":
        return read_run(folder).base_model
    return read_lineage(folder).base if kind == "ensemble" else None


def model_roles(kind: Kind, folder: Path, workspace: Path) -> Roles | None:
    """What languages are to a model; None where that is not known, as of a folder.

    The targets of an ensemble are what its experts learned; its base languages and replay are
    in the runs of the experts that branched from its base, as far as these are here.
    """
    if kind == "run":
        return read_run(folder).roles
    if kind == "folder":
        return None
    lineage = read_lineage(folder)
    targets = dict.fromkeys(lang for expert in lineage.experts for lang in expert.languages)
    first = [expert for expert in lineage.experts if expert.parent == lineage.base and expert.run]
    tokens, bases, replay = 0, dict[str, None](), Counter[str]()
    for expert in first:
        place = workspace / "runs" / str(expert.run)
        if (place / "run.json").is_file():
            roles = read_run(place).roles
            bases |= dict.fromkeys(roles.base_languages)
            replay.update({x: expert.tokens * share for x, share in roles.replay.items()})
            tokens += expert.tokens
    shares = {x: amount / tokens for x, amount in replay.items() if amount}
    return Roles(tuple(targets), tuple(bases), shares)


def resolve_model(given: str, workspace: Path) -> tuple[Kind, Path, str, str | None]:
    """A model's kind, place and name, and the routing behind the last `@`, if one is named."""
    name, at, way = given.rpartition("@")
    try:
        return *find_model(given, workspace), given, None
    except UserError:
        if not at:
            raise
    return *find_model(name, workspace), name, way  # the `@` is no part of the name


def with_bases(models: Sequence[str], workspace: Path) -> list[str]:
    """The models, each once, and after them the base models that exist."""
    named: dict[tuple[Path, str | None], str] = {}
    for name in models:
        place = place_of(name, workspace)
        if place in named:
            also = "" if named[place] == name else f", as `{named[place]}` too"
            raise UserError(f"`{name}` is named twice{also}", hint="name each model once")
        named[place] = name
    for name in models:
        base = stored_base(name, workspace)
        if base is not None:
            named.setdefault(place_of(base, workspace), base)
    return list(named.values())
