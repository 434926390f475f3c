"""A corpus's own account of itself, `corpus.json`, as the page reads it."""

from pathlib import Path
from typing import Any, TypedDict

from tongues.errors import UserError
from tongues.files import read_json

__all__ = ["Amount", "Language", "Summary", "copies", "faults", "read_summary"]


class Amount(TypedDict):
    """So much text."""

    documents: int
    bytes: int
    characters: int


class Language(TypedDict):
    """What became of a language's text."""

    pieces: list[dict[str, Any]]  # source, documents, bytes, capped, faults, fault_samples
    read: Amount
    kept: Amount
    dropped: dict[str, Amount]  # by reason
    thresholds: dict[str, float]  # by their word in the recipe
    labels: dict[str, int]  # documents by what they were identified as
    scripts: dict[str, int]  # documents by the script of most of their letters
    found: dict[str, float]  # share of the kept bytes, by what they were identified as
    foreign: float | None  # share of the kept bytes in other languages, if that can be known
    clusters: dict[str, Any]  # clusters, documents, largest
    signals: dict[str, dict[str, list[float]]]  # edges, kept, dropped
    samples: dict[str, list[dict[str, str]]]  # by reason, and of the kept


class Summary(TypedDict):
    """`corpus.json`."""

    made_from: str
    reasons: list[str]
    languages: dict[str, Language]
    cautions: list[dict[str, str]]


def read_summary(path: Path) -> Summary:
    """Read the summary of the corpus at `path`; a UserError when it is missing or damaged."""
    file = path / "corpus.json"
    hint = "run `tongues prepare` with its recipe"
    try:
        summary = read_json(file)
    except OSError:
        raise UserError("there is no corpus.json", where=str(path), hint=hint) from None
    except ValueError as error:
        raise UserError(f"cannot be read ({error})", where=str(file), hint=hint) from None
    whole = isinstance(summary, dict) and summary.keys() >= Summary.__required_keys__
    if not whole or not all(
        isinstance(about, dict) and about.keys() >= Language.__required_keys__
        for about in summary["languages"].values()
    ):
        raise UserError("is no whole account of a corpus", where=str(file), hint=hint)
    return Summary(**summary)


def faults(about: Language) -> int:
    """Places in the text of a language that could not be read."""
    return sum(sum(piece["faults"].values()) for piece in about["pieces"])


def copies(about: Language) -> int:
    """Documents dropped because another one says the same."""
    return sum(about["dropped"][why]["documents"] for why in about["dropped"] if "copy" in why)
