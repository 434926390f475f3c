"""What an ensemble is made of: `ensemble.json`, and whether everything it names is as it was.

Every file that decides what an expert predicts is named with its SHA-256, so a byte that changed,
a router that is gone or a foreign tokenizer is found before anything is computed.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tongues.errors import UserError, nearest
from tongues.files import file_hash, path_text, read_json, write_json
from tongues.models.folders import stored_shapes, weight_files

__all__ = [
    "ENSEMBLE",
    "ROUTER",
    "Expert",
    "Lineage",
    "RouterFile",
    "best_experts",
    "describe_expert",
    "expert_folder",
    "find_ensemble",
    "read_lineage",
    "router_file",
    "verify",
    "write_lineage",
]

ENSEMBLE, ROUTER = "ensemble.json", "router.safetensors"
_CONFIG, _TOKENIZER = "config.json", "tokenizer.json"


@dataclass(frozen=True, slots=True)
class Expert:
    """A model of the ensemble, as it was when it joined."""

    name: str
    folder: str  # Hugging Face's: from the workspace on where it lies inside, else whole
    sha256: Mapping[str, str]  # of config.json and every file of weights, by name
    languages: Mapping[str, float]  # share of each one's text that it learned
    parent: str | None  # the expert, run or folder that it branched from
    run: str | None  # of the run store
    tokens: int  # that it was trained on since


@dataclass(frozen=True, slots=True)
class RouterFile:
    """The router beside `ensemble.json`."""

    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """`ensemble.json`."""

    experts: tuple[Expert, ...]
    languages: Mapping[str, str]  # the expert that is best for each
    seed: str  # the run or folder that all of it began with
    tokenizer_sha256: str
    router: RouterFile | None
    partition: Mapping[str, Any]  # of the text
    rounds: tuple[Mapping[str, Any], ...] = ()  # made, from, expert: what came when

    @property
    def names(self) -> tuple[str, ...]:
        """The experts' names, in order."""
        return tuple(expert.name for expert in self.experts)

    def number_of(self, language: str) -> int:
        """The place of a language's expert; a UserError where it has none."""
        if language not in self.languages:
            hint = f"let the text tell, by `text`; {nearest(language, self.languages)}"
            raise UserError(f"no expert learned `{language}`", where="routing", hint=hint)
        return self.names.index(self.languages[language])


def describe_expert(
    name: str,
    folder: Path,
    workspace: Path,
    *,
    languages: Mapping[str, float],
    parent: str | None,
    run: str | None,
    tokens: int,
) -> Expert:
    """An expert as it lies in a Hugging Face folder now."""
    stored_shapes(folder)  # damaged files are refused
    whole = folder.resolve()
    inside = whole.is_relative_to(workspace.resolve())
    place = whole.relative_to(workspace.resolve()) if inside else whole
    hashes = {file.name: file_hash(file) for file in (folder / _CONFIG, *weight_files(folder))}
    return Expert(name, path_text(place), hashes, dict(languages), parent, run, tokens)


def find_ensemble(name: str, workspace: Path) -> Path:
    """The folder of an ensemble, by its path or by its name such as `family/typology-4-s1`."""
    store = workspace / "ensembles"
    for folder in (store / name, Path(name)):
        if (folder / ENSEMBLE).is_file():
            return folder
    names = [str(file.parent.relative_to(store)) for file in store.rglob(ENSEMBLE)]
    hint = nearest(name, names) if names else "`tongues experts train` makes one"
    if any((place / name / "run.json").is_file() for place in (workspace / "runs", Path())):
        hint = f"`{name}` is a run, which `tongues ls` shows; {hint}"
    raise UserError(f"there is no ensemble `{name}`", where=str(store), hint=hint)


def best_experts(experts: Iterable[Expert]) -> dict[str, str]:
    """Of each language, the name of the expert that learned the largest share of its text."""
    found: dict[str, tuple[float, str]] = {}
    for expert in experts:
        for lang, share in expert.languages.items():
            if share > found.get(lang, (0.0, ""))[0]:
                found[lang] = (share, expert.name)
    return {lang: name for lang, (_, name) in found.items()}


def router_file(path: Path) -> RouterFile:
    """The router that lies there now."""
    return RouterFile(path.name, file_hash(path))


def write_lineage(lineage: Lineage, folder: Path) -> None:
    """Write `ensemble.json` into a folder."""
    write_json(folder / ENSEMBLE, asdict(lineage))


def read_lineage(folder: Path) -> Lineage:
    """Read `ensemble.json`; a UserError when it is missing or damaged.

    Folders that it names from its own on (`./…`), as an exported one does, come out whole.
    """
    path = folder / ENSEMBLE
    if not path.is_file():
        others = [other.parent.name for other in folder.parent.glob(f"*/{ENSEMBLE}")]
        hint = "`tongues experts train` makes one"
        hint += f"; {nearest(folder.name, others)}" if others else ""
        raise UserError("there is no ensemble", where=str(folder), hint=hint)
    try:
        plain = read_json(path)
        router = plain["router"]
        return Lineage(
            experts=tuple(_placed(Expert(**expert), folder) for expert in plain["experts"]),
            languages=plain["languages"],
            seed=plain["seed"],
            tokenizer_sha256=plain["tokenizer_sha256"],
            router=RouterFile(**router) if router else None,
            partition=plain["partition"],
            rounds=tuple(plain["rounds"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "run `tongues experts train` again, which writes it anew"
        raise UserError(_damage(error), where=str(path), hint=hint) from None


def _placed(expert: Expert, folder: Path) -> Expert:
    inside = expert.folder.startswith("./")
    return replace(expert, folder=str((folder / expert.folder).resolve())) if inside else expert


def _damage(error: Exception) -> str:
    """What is wrong with `ensemble.json`, in words."""
    match error:
        case json.JSONDecodeError():
            return f"is damaged: what stands in line {error.lineno} is no JSON"
        case UnicodeDecodeError():
            return "is damaged: it is no text"
        case KeyError():
            return f"is damaged: it lacks `{error.args[0]}`"
        case OSError():
            return f"cannot be read ({error.strerror})"
    return "is damaged, or was written by another version: its parts are not what they should be"


def expert_folder(expert: Expert, workspace: Path) -> Path:
    """Where an expert's model lies; a UserError when it is gone."""
    folder = workspace / expert.folder  # a whole path stays as it is
    if not (folder / _CONFIG).is_file():
        hint = "put it back, or name the workspace it lies in by `--in`"
        raise UserError(f"expert `{expert.name}` is gone", where=str(folder), hint=hint)
    return folder


def verify(lineage: Lineage, folder: Path, workspace: Path, *, bytes_too: bool = True) -> None:
    """Refuse an ensemble that is not what `ensemble.json` in `folder` says.

    Experts and router must be there, all of one vocabulary, and, with `bytes_too`, have the
    SHA-256 they had. Reads every file once.
    """
    sizes: dict[int, str] = {}
    for expert in lineage.experts:
        place = expert_folder(expert, workspace)
        _same_files(expert, place, bytes_too)
        _same_tokenizer(expert, place, lineage.tokenizer_sha256)
        sizes.setdefault(_vocabulary(place), expert.name)
    if len(sizes) > 1:
        told = " and ".join(f"`{name}` has {size:,} rows" for size, name in sizes.items())
        what = f"experts differ in their vocabularies: {told}"
        hint = "mixed probabilities need one vocabulary: train them from one seed"
        raise UserError(what, where=str(folder / ENSEMBLE), hint=hint)
    if lineage.router:
        _same_router(lineage.router, folder, bytes_too)


def _same_files(expert: Expert, place: Path, bytes_too: bool) -> None:
    hint = _restore(expert)
    for name, digest in expert.sha256.items():
        if not (place / name).is_file():
            raise UserError(f"`{expert.name}` lacks `{name}`", where=str(place), hint=hint)
        if bytes_too and file_hash(place / name) != digest:
            what = f"expert `{expert.name}` is not what it was: `{name}` has changed"
            raise UserError(what, where=str(place), hint=hint)


def _same_tokenizer(expert: Expert, place: Path, digest: str) -> None:
    file = place / _TOKENIZER
    if not file.is_file():
        raise UserError(f"`{expert.name}` has no tokenizer", where=str(file), hint=_restore(expert))
    if file_hash(file) != digest:
        what = f"expert `{expert.name}` has another tokenizer than the ensemble"
        hint = "only experts of one tokenizer can be mixed: take one trained from the same seed"
        raise UserError(what, where=str(file), hint=hint)


def _same_router(router: RouterFile, folder: Path, bytes_too: bool) -> None:
    path = folder / router.file
    hint = "run `tongues experts train` again, which fits it anew"
    if not path.is_file():
        raise UserError("the router is gone", where=str(path), hint=hint)
    if bytes_too and file_hash(path) != router.sha256:
        raise UserError("the router is not what it was", where=str(path), hint=hint)


def _restore(expert: Expert) -> str:
    if expert.run:
        return f"copy it from where it was made, or train `{expert.run}` again"
    return "copy the folder again from where it came"


def _vocabulary(place: Path) -> int:
    """Rows of its embedding, as its configuration says."""
    config = read_json(place / _CONFIG)
    return int(config.get("vocab_size") or 0)
