"""What lies at a place that a report is asked for, and where the report goes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tongues.errors import UserError

__all__ = ["Kind", "default_folder", "kind_of"]

Kind = Literal["runs", "corpus", "tokenizer"]


def kind_of(places: Sequence[Path]) -> Kind:
    """Whether these are runs, one corpus or tokenizers; several kinds are refused."""
    first = _kind(places[0])
    for place in places:
        if (kind := _kind(place)) != first:
            what = f"is of another kind ({kind}) than {places[0]} ({first})"
            raise UserError(what, where=str(place), hint="report each kind by itself")
    if first == "corpus" and len(places) > 1:
        hint = "report each by itself, into a folder of its own"
        raise UserError("a page shows one corpus", where=str(places[1]), hint=hint)
    return first


def default_folder(places: Sequence[Path], kind: Kind) -> Path:
    """`reports/NAME` for runs; a corpus and a tokenizer of that name have their own beside it."""
    place = places[0].resolve()
    name = place.parent.name if place.name == "tokenizer.json" else place.stem
    return Path("reports") / (place.name if kind == "runs" else f"{name}-{kind}")


def _kind(place: Path) -> Kind:
    if (place / "corpus.json").is_file():
        return "corpus"
    return "tokenizer" if place.is_file() or (place / "tokenizer.json").is_file() else "runs"
