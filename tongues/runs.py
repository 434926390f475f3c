"""The run store: a run's directory, its record, and the table over many runs.

A run lives in `runs/<study>/<run>/`: `run.json` (its record), `metrics.jsonl` (a line a
logged step), `evals.jsonl` (a line a language and evaluation), `timing.jsonl` (what the clock
said; the only file that differs between two runs of one recipe), `checkpoints/`, `model/`;
`failure.txt` where it failed. Beside the runs of a study lies `.plans.json`: what is meant.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypedDict

from tongues.errors import UserError, nearest
from tongues.files import read_json, read_lines, write_json

__all__ = [
    "FAILURE",
    "PLANS",
    "Parameters",
    "Record",
    "Surgery",
    "find_runs",
    "read_record",
    "status_of",
    "table",
    "write_record",
]

FAILURE = "failure.txt"  # in a run's directory: why it failed
PLANS = ".plans.json"  # in a study's folder: its runs as they are meant, by name


class Parameters(TypedDict):
    """Exact parameter counts."""

    total: int
    embedding: int  # input and output matrices over the vocabulary
    non_embedding: int


class Surgery(TypedDict):
    """What was done about the pieces that a parent's tokenizer lacks."""

    pieces: int
    way: str  # by which they got their embeddings
    losses: dict[str, dict[str, float]]  # held-out, right after: nats per token by way, language


class Record(TypedDict):
    """`run.json`."""

    run: str  # unique in the store: `<study>/<run>`
    fingerprint: str  # of the settings, the tokens and the parent
    status: str  # running, finished, failed; diverged, which no other machine would mend
    strategy: str  # source, scratch, cpt or expert
    target: str  # the language that is learned
    source: str | None  # cpt: the language the parent knows
    replay: float  # cpt: share of the parent's languages in the mixture
    parent: str | None
    parent_fingerprint: str | None
    shape: str
    family: str  # transformers' `model_type`
    params: Parameters
    seed: int
    steps: int
    tokens: int
    flops: float  # of the whole run, exact
    batch: int  # tokens
    rate: float  # at its peak
    shares: dict[str, float]  # of all tokens by language, replay included
    epochs: dict[str, float]  # how often the run reads the text of each language
    foreign: dict[
        str, dict[str, float] | None
    ]  # shares of other languages found in each one's text
    surgery: Surgery | None  # once it is done, where the parent lacks pieces
    engine: dict[str, Any] | None  # how it is computed, in the newest sitting
    settings: dict[str, Any]
    tokens_fingerprint: str
    versions: dict[str, str]
    seconds: float | None  # of training, over all its sittings; None until finished


def write_record(directory: Path, record: Record) -> None:
    """Write `run.json`."""
    write_json(directory / "run.json", record)


def read_record(directory: Path) -> Record:
    """Read `run.json`; a UserError names the runs that exist when there is none."""
    path = directory / "run.json"
    if not path.is_file():
        others = (p.parent.name for p in directory.parent.glob("*/run.json"))
        hint = nearest(directory.name, others)
        raise UserError("there is no such run", where=str(directory), hint=hint)
    return read_json(path)


def status_of(directory: Path) -> str | None:
    """As the record of a run says; None where there is none yet."""
    return read_record(directory)["status"] if (directory / "run.json").is_file() else None


def find_runs(places: Iterable[Path]) -> list[Path]:
    """The run directories at or below `places`, sorted by path."""
    found: set[Path] = set()
    for place in places:
        if not place.is_dir():
            raise UserError("is no directory of runs", where=str(place))
        found.update(path.parent for path in place.rglob("run.json"))
    return sorted(found)


def table(places: Iterable[Path]) -> list[dict[str, Any]]:
    """One row per run, evaluation and language, of finished runs.

    Columns: run, strategy, target, source, replay, parent, shape, seed, tokens_fingerprint,
    params, params_non_embedding, step, tokens (all languages), flops (exact), tokens_lang and
    epochs_lang (of this row's language), lang, loss (nats per token), bits_per_byte.
    """
    rows: list[dict[str, Any]] = []
    for directory in find_runs(places):
        record = read_record(directory)
        if record["status"] != "finished":
            continue
        shared = {
            "run": record["run"],
            "strategy": record["strategy"],
            "target": record["target"],
            "source": record["source"],
            "replay": record["replay"],
            "parent": record["parent"],
            "shape": record["shape"],
            "seed": record["seed"],
            "tokens_fingerprint": record["tokens_fingerprint"],
            "params": record["params"]["total"],
            "params_non_embedding": record["params"]["non_embedding"],
        }
        rows += [shared | line for line in read_lines(directory / "evals.jsonl")]
    return rows
