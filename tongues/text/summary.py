"""What is known of a corpus, of each language: `corpus.json`, as it is read again."""

from collections import Counter
from pathlib import Path
from typing import Any, TypedDict

from tongues.core.errors import UserError
from tongues.core.files import read_json

MARKUP = 0.2  # share of tags from which a document is full of them; chosen: text is the rest


class TextSize(TypedDict):
    """An amount of text."""

    documents: int
    bytes: int


class LanguageSummary(TypedDict):
    """What was read, kept and dropped of a language's text."""

    sources: list[dict[str, Any]]  # counts, faults, what is lost or repaired, fault_samples
    marked_up: int  # documents kept of which a fifth or more is tags
    passed_over: dict[str, dict[str, int]]  # files and bytes of its folders not read, by kind
    read: TextSize
    kept: TextSize
    dropped: dict[str, TextSize]  # by reason
    thresholds: dict[str, float]  # by recipe key
    labels: dict[str, int]  # documents by identified language
    scripts: dict[str, int]  # documents by the script of most of their letters
    identified: dict[str, float]  # share of the kept bytes, by identified language
    known: bool  # whether the identifier knows the language; else only large others are foreign
    foreign: float | None  # share of the kept bytes in other languages; None: unknown
    foreign_shares: dict[str, float] | None  # of each other language, but for the rarest
    samples: dict[str, list[dict[str, str]]]  # by reason, and of the kept


class CorpusSummary(TypedDict):
    """`corpus.json`."""

    made_from: str
    reasons: list[str]
    languages: dict[str, LanguageSummary]
    cautions: list[dict[str, str]]


def read_summary(path: Path) -> CorpusSummary:
    """Read the summary of the corpus at `path`; a UserError when it is missing or damaged."""
    file = path / "corpus.json"
    hint = "run `tongues prepare` with its recipe"
    try:
        summary = read_json(file)
    except OSError:
        raise UserError("there is no corpus.json", where=str(path), hint=hint) from None
    except ValueError as error:
        raise UserError(f"cannot be read ({error})", where=str(file), hint=hint) from None
    whole = isinstance(summary, dict) and summary.keys() >= CorpusSummary.__required_keys__
    if not whole or not all(
        isinstance(about, dict) and about.keys() >= LanguageSummary.__required_keys__
        for about in summary["languages"].values()
    ):
        raise UserError("is not a complete summary of a corpus", where=str(file), hint=hint)
    return CorpusSummary(**summary)


def faults_by_reason(about: LanguageSummary) -> Counter[str]:
    """The number of faults in a language's text, by reason."""
    counts = Counter[str]()
    for source in about["sources"]:
        counts.update(source["faults"])
    return counts
