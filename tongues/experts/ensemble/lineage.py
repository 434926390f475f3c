"""What an ensemble is made of: `ensemble.json`, and whether everything it names is as it was.

Every file that decides what an expert predicts is named with its SHA-256, so a byte that changed,
a router that is gone or a foreign tokenizer is found before anything is computed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tongues.core.errors import UserError, nearest
from tongues.core.files import (
    check_readable,
    file_hash,
    files_named,
    path_text,
    read_json,
    write_json,
)
from tongues.core.jsonable import from_plain
from tongues.core.quantities import show_count
from tongues.models.folders import read_config, stored_shapes, weight_files

ENSEMBLE, ROUTER = "ensemble.json", "router.safetensors"
ADAPTER = "../adapter/adapter_model.safetensors"  # of a run's low-rank updates, from its model on
_CONFIG, TOKENIZER = "config.json", "tokenizer.json"
_LANGUAGES = 8  # of an ensemble that a table names


@dataclass(frozen=True, slots=True)
class Expert:
    """A model of the ensemble, as it was when it joined."""

    name: str
    folder: str  # Hugging Face's: from the workspace on where it is inside, else whole
    sha256: Mapping[str, str]  # of config.json and every file of weights, by name
    languages: Mapping[str, float]  # share of each one's text that it learned
    parent: str | None  # the expert, run or folder that it branched from
    run: str | None  # of the run store
    tokens: int  # that it was trained on since


@dataclass(frozen=True, slots=True)
class RouterFile:
    """The router next to `ensemble.json`."""

    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """`ensemble.json`."""

    experts: tuple[Expert, ...]
    languages: Mapping[str, str]  # the expert that is best for each
    base: str  # the run or folder whose weights all of it started from
    tokenizer_sha256: str
    router: RouterFile | None  # None: of one model alone
    partition: Mapping[str, Any]  # of the text
    rounds: tuple[Mapping[str, Any], ...] = ()  # ensemble, base, expert: what was added when
    fallback: Expert | None = None  # the base, for text that no expert learned; None: not at hand

    @property
    def members(self) -> tuple[Expert, ...]:
        """All that can have a weight: the experts, then the base."""
        return (*self.experts, *([self.fallback] if self.fallback else ()))

    @property
    def names(self) -> tuple[str, ...]:
        """The experts' names, in order."""
        return tuple(expert.name for expert in self.experts)

    def number_of(self, language: str) -> int:
        """The place of a language's expert; a UserError where it has none."""
        if language not in self.languages:
            hint = f"use `filter:2`, which finds it; {nearest(language, self.languages)}"
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
    """An expert as it is in a Hugging Face folder now."""
    read_config(folder)  # what is damaged is refused before it is read
    stored_shapes(folder)
    whole, root = folder.resolve(), workspace.resolve()
    place = whole.relative_to(root) if whole.is_relative_to(root) else whole
    hashes = {file.name: file_hash(file) for file in (folder / _CONFIG, *weight_files(folder))}
    if (folder / ADAPTER).is_file():
        hashes[ADAPTER] = file_hash(folder / ADAPTER)
    return Expert(name, path_text(place), hashes, dict(languages), parent, run, tokens)


def expert_row(expert: Expert) -> dict[str, str]:
    """What an expert learned, as text: its languages, with shares below all, and its tokens."""
    shares = expert.languages.items()
    each = (lang if share > 0.995 else f"{lang} {share:.0%}" for lang, share in shares)
    return {"languages": ", ".join(each), "tokens": show_count(expert.tokens)}


def find_ensemble(name: str, workspace: Path) -> Path:
    """The folder of an ensemble, by its path or by its name such as `family/typology-4-s1`."""
    store = workspace / "ensembles"
    for folder in (store / name, Path(name)):
        if (folder / ENSEMBLE).is_file():
            return folder
    names = [str(file.parent.relative_to(store)) for file in files_named(store, ENSEMBLE)]
    hint = nearest(name, names) if names else "`tongues experts train` makes one"
    if any((place / name / "run.json").is_file() for place in (workspace / "runs", Path())):
        hint = f"`{name}` is a run, which `tongues ls` shows; {hint}"
    raise UserError(f"there is no ensemble `{name}`", where=str(store), hint=hint)


def best_experts(experts: Iterable[Expert]) -> dict[str, str]:
    """Of each language, the name of the expert that learned the largest share of its text."""
    best: dict[str, tuple[float, str]] = {}
    for expert in experts:
        for lang, share in expert.languages.items():
            if share > best.get(lang, (0.0, ""))[0]:
                best[lang] = (share, expert.name)
    return {lang: name for lang, (_, name) in best.items()}


def router_file(path: Path) -> RouterFile:
    """The router that is there now."""
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
        hint = nearest(folder.name, others) if others else "`tongues experts train` makes one"
        raise UserError("there is no ensemble", where=str(folder), hint=hint)
    check_readable(path)
    try:
        plain = read_json(path)
        for expert in [*plain.get("experts", ()), plain.get("fallback")]:
            if expert and expert["folder"].startswith("./"):
                expert["folder"] = str((folder / expert["folder"]).resolve())
        return from_plain(Lineage, plain)
    except (OSError, ValueError, TypeError, AttributeError, LookupError) as error:
        what = f"is damaged, or was written by another version ({error})"
        hint = "run `tongues experts train` again, which writes it again"
        raise UserError(what, where=str(path), hint=hint) from None


def other_tokenizer(who: str, where: str, folder: str | Path) -> UserError:
    """The error of an expert, or a text, that is not in the tokens of the ensemble.

    folder: of an expert that has these.
    """
    what = f"{who} has another tokenizer than the ensemble"
    own = f"`tokens.base: {Path(folder, TOKENIZER)}`"
    hint = f"only experts of one tokenizer can be mixed: prepare with {own}, without `extend`"
    return UserError(what, where=where, hint=hint)


def expert_folder(expert: Expert, workspace: Path) -> Path:
    """Where an expert's model is; a UserError when it is gone."""
    folder = workspace / expert.folder  # a whole path stays as it is
    if not (folder / _CONFIG).is_file():
        hint = "put it back, or name the workspace it is in by `--workspace`"
        raise UserError(f"expert `{expert.name}` is gone", where=str(folder), hint=hint)
    return folder


def without_gone(lineage: Lineage, workspace: Path) -> Lineage:
    """The ensemble without a base that is no longer there: all experts take its place."""
    there = lineage.fallback and (workspace / lineage.fallback.folder / _CONFIG).is_file()
    return lineage if there else replace(lineage, fallback=None)


def verify(lineage: Lineage, folder: Path, workspace: Path, *, bytes_too: bool = True) -> None:
    """Refuse an ensemble that is not what `ensemble.json` in `folder` says.

    Experts and router must be there, all of one vocabulary, and, with `bytes_too`, have the
    SHA-256 they had. Reads every file once.
    """
    sizes: dict[int, str] = {}  # the first expert with this number of rows
    for expert in without_gone(lineage, workspace).members:
        place = expert_folder(expert, workspace)
        hint = "copy the folder again from where it came"
        if expert.run:
            hint = f"copy it from where it was made, or train `{expert.run}` again"
        for name, digest in expert.sha256.items():
            if not (place / name).is_file():
                raise UserError(f"`{expert.name}` has no `{name}`", where=str(place), hint=hint)
            if bytes_too and file_hash(place / name) != digest:
                what = f"expert `{expert.name}` is not what it was: `{name}` has changed"
                raise UserError(what, where=str(place), hint=hint)
        file = place / TOKENIZER
        if not file.is_file():
            raise UserError(f"`{expert.name}` has no tokenizer", where=str(file), hint=hint)
        if file_hash(file) != lineage.tokenizer_sha256:
            other = next((e for e in lineage.experts if e != expert), expert)
            raise other_tokenizer(f"expert `{expert.name}`", str(file), other.folder)
        size = int(read_json(place / _CONFIG).get("vocab_size") or 0)
        sizes.setdefault(size, expert.name)
    if len(sizes) > 1:
        each = " and ".join(f"`{name}` has {size:,} rows" for size, name in sizes.items())
        what = f"experts differ in their vocabularies: {each}"
        hint = "mixed probabilities need one vocabulary: train them from one base"
        raise UserError(what, where=str(folder / ENSEMBLE), hint=hint)
    path = folder / (lineage.router.file if lineage.router else ROUTER)
    hint = "run `tongues experts train` again, which fits it again"
    if not (lineage.router and path.is_file()):
        raise UserError("the router is gone", where=str(path), hint=hint)
    if bytes_too and file_hash(path) != lineage.router.sha256:
        raise UserError("the router is not what it was", where=str(path), hint=hint)


@dataclass(frozen=True, slots=True)
class EnsembleState:
    """An ensemble of the store, or one elsewhere, and whether it is complete."""

    ensemble: str  # its name, as `tongues generate` takes it
    directory: str
    experts: int
    languages: tuple[str, ...]  # that it learned
    complete: bool
    reason: str = ""  # what is missing; bytes are not compared, as `tongues experts show` does


def ensemble_states(places: Iterable[Path], workspace: Path) -> list[EnsembleState]:
    """The state of each ensemble at or below `places`, by path."""
    store, states = workspace / "ensembles", []
    for folder in sorted(
        {file.parent for place in places for file in files_named(place, ENSEMBLE)}
    ):
        name = str(folder.relative_to(store) if folder.is_relative_to(store) else folder)
        experts, languages, reason = 0, (), ""
        try:
            lineage = read_lineage(folder)
            experts, languages = len(lineage.experts), tuple(sorted(lineage.languages))
            verify(lineage, folder, workspace, bytes_too=False)
        except UserError as error:
            reason = error.what
        states.append(EnsembleState(name, str(folder), experts, languages, not reason, reason))
    return states


def state_rows(states: Sequence[EnsembleState]) -> list[dict[str, str]]:
    """A row of text per ensemble; where all are complete, no reasons."""
    whole = all(state.complete for state in states)
    return [
        {
            "ensemble": state.ensemble,
            "experts": str(state.experts),
            "languages": " ".join(state.languages[:_LANGUAGES]) + (f" +{more}" if more > 0 else ""),
            "state": "complete" if state.complete else "incomplete",
        }
        | ({} if whole else {"why": state.reason})
        for state in states
        for more in [len(state.languages) - _LANGUAGES]
    ]
