"""The run store: a run's directory, its record, and the table over many runs.

A run is in `runs/<study>/<run>/`: `run.json` (its record, a `Run`), `metrics.jsonl` (a line a
logged step), `evals.jsonl` (a line a language and evaluation), `timing.jsonl` (clock times; the
only file that differs between two runs of one recipe), `checkpoints/`, `model/`; `recipe.yaml` of a
run by itself; `failure.txt` where it failed. `.plans.json` in a study's folder lists the runs that
are planned.
"""

import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, NotRequired

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from tongues.core.errors import UserError, nearest
from tongues.core.files import files_named, read_json, read_lines, write_json
from tongues.core.roles import Roles

FAILURE = "failure.txt"  # in a run's directory: why it failed
RECIPE = "recipe.yaml"  # in a run's directory: what it was trained by, overrides included
HANDED = "handed.json"  # of a run that another trainer was handed: what its log does not say
PLANS = ".plans.json"  # in a study's folder: its planned runs by name
JOINED = "+"  # between the languages of a cell
KEPT_CHECKPOINTS = 2  # newest ones that an unfinished run keeps: should one be damaged

Cells = dict[str, Any]  # a row of a table: texts and numbers by column


class Parameters(TypedDict):
    """Exact parameter counts."""

    total: int
    embedding: int  # input and output matrices over the vocabulary
    non_embedding: int


class LanguageShare(TypedDict):
    """A language of a mixture whose shares follow from a rule."""

    bytes: int  # of training text
    content: int  # bytes of it over the language's byte premium
    share: float  # of the mixture
    epochs: float


class DerivedMixture(TypedDict):
    """Shares of a mixture by a rule."""

    rule: dict[str, Any]  # as in the recipe
    languages: dict[str, LanguageShare]
    by_text: NotRequired[dict[str, float]]  # by proxies: the shares without them
    by_proxies: NotRequired[dict[str, float]]  # the best shares by them, taken or not
    gain: NotRequired[dict[str, Any]]  # of these: an `Estimate` against `by_text`, nats per token


class VocabularyExtension(TypedDict):
    """How tokens that the base's tokenizer does not have got their embeddings."""

    new_tokens: int
    initialization: str  # `distilled` or `mean`


@dataclass(frozen=True, slots=True)
class Base:
    """The model that a run continues from."""

    model: str  # a run of the store, a Hugging Face folder, or `org/name@revision` of the hub
    languages: tuple[str, ...]  # what it knows
    fingerprint: str
    commit: str | None = None  # of a model of the hub

    @property
    def pinned(self) -> str:
        """The model, at the commit that was read if it is of the hub."""
        return f"{self.model.partition('@')[0]}@{self.commit}" if self.commit else self.model


@dataclass(frozen=True, slots=True)
class Run:
    """`run.json`: all that is recorded about a run."""

    run: str  # unique in the store: `<study>/<run>`
    fingerprint: str  # of the settings, the tokens and the base
    status: str  # running, finished, failed; diverged, as on any machine
    strategy: str  # source, scratch, cpt or expert
    base: Base | None
    targets: tuple[str, ...]  # the languages that are learned
    replay: dict[str, float]  # share of all tokens by base language
    shape: str
    family: str  # transformers' `model_type`
    params: Parameters
    seed: int
    steps: int
    tokens: int
    flops: float  # of the whole run, exact
    batch: int  # tokens
    learning_rate: float  # at its peak; 0 where another trainer did not log it
    shares: dict[str, float]  # of all tokens by language, replay included
    epochs: dict[str, float]  # how often the run reads the text of each language
    foreign: dict[str, dict[str, float] | None]  # shares of other languages in each one's text
    vocabulary_extension: VocabularyExtension | None  # None: the base has every token
    engine: dict[str, Any] | None  # how it is computed, in the newest sitting
    settings: dict[str, Any]
    tokens_fingerprint: str
    versions: dict[str, str]
    seconds: float | None  # of training, over all its sittings; None until finished
    mixture: DerivedMixture | None = None  # None: the recipe names the shares

    @property
    def roles(self) -> Roles:
        """What each language is to the run."""
        return Roles(self.targets, self.base.languages if self.base else (), self.replay)

    @property
    def languages(self) -> tuple[str, ...]:
        """What the trained model knows: its base's languages, and all it was trained on."""
        before = self.base.languages if self.base else ()
        return tuple(dict.fromkeys([*before, *self.shares]))

    @property
    def base_model(self) -> str | None:
        """The run or folder that it continues from."""
        return self.base.model if self.base else None


def write_run(directory: Path, run: Run) -> None:
    """Write `run.json`."""
    write_json(directory / "run.json", asdict(run))


def read_run(directory: Path) -> Run:
    """Read and check `run.json`; a UserError names the file and what is wrong with it."""
    path = directory / "run.json"
    if not path.is_file():
        others = (p.parent.name for p in directory.parent.glob("*/run.json"))
        hint = nearest(directory.name, others)
        raise UserError("there is no such run", where=str(directory), hint=hint)
    from pydantic import ValidationError

    try:
        return _validator().validate_python(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "all of it"
        what = f"is not a record of a tongues run: `{key}`: {first['msg']}"
        hint = "name a folder that holds runs of tongues alone, or move this file away"
        raise UserError(what, where=str(path), hint=hint, code="foreign_record") from None
    except ValueError as error:
        what = f"is damaged: {error}"
        hint = "copy it back from where it was made, or train the run again with `--overwrite`"
        raise UserError(what, where=str(path), hint=hint, code="damaged_record") from None


@cache
def _validator() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Run)


def status_of(directory: Path) -> str | None:
    """As the record of a run says; None where there is none yet."""
    return read_run(directory).status if (directory / "run.json").is_file() else None


def find_runs(places: Iterable[Path]) -> list[Path]:
    """The run directories at or below `places`, sorted by path."""
    found: set[Path] = set()
    for place in places:
        if not place.is_dir():
            hint = "`tongues train RECIPE` makes one; `tongues next` says what comes next"
            if inside := next(iter(sorted(place.parent.glob("*/runs/"))), None):
                hint = f"`tongues ls {shlex.quote(str(inside.parent))}` lists those there; {hint}"
            raise UserError("is not a directory of runs", where=str(place), hint=hint)
        found.update(path.parent for path in files_named(place, "run.json"))
    return sorted(found)


def run_rows(places: Iterable[Path]) -> list[Cells]:
    """One row per run, evaluation and language, of finished runs.

    Columns: run, strategy, target (`tr+he` of several), base_languages (likewise), replay (share
    of all tokens), base (run or folder), shape, seed, tokens_fingerprint, params,
    params_non_embedding, step, tokens (all languages), flops (exact), lang, role (of this row's
    language: target, base or other), share, tokens_lang and epochs_lang (of this row's language),
    loss (nats per token), bits_per_byte.
    """
    rows: list[Cells] = []
    for directory in find_runs(places):
        run = read_run(directory)
        if run.status != "finished":
            continue
        shared: Cells = {
            "run": run.run,
            "strategy": run.strategy,
            "target": JOINED.join(run.targets),
            "base_languages": JOINED.join(run.roles.base_languages),
            "replay": run.roles.replay_share,
            "base": run.base_model,
            "shape": run.shape,
            "seed": run.seed,
            "tokens_fingerprint": run.tokens_fingerprint,
            "params": run.params["total"],
            "params_non_embedding": run.params["non_embedding"],
        }
        for line in read_lines(directory / "evals.jsonl"):
            lang = line["lang"]
            of_lang: Cells = {"role": run.roles.role(lang), "share": run.shares.get(lang, 0.0)}
            rows.append(shared | of_lang | line)
    return rows
