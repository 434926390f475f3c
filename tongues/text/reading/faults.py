"""What could not be read, and why."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from tongues.text.document import Document

__all__ = ["LONGEST", "REASONS", "Fault", "Item", "Reason", "State", "fault"]

LONGEST = 10_000_000  # bytes of a document; what is longer is no document but a dump
_SAMPLE = 200  # characters

Reason = Literal[
    "archive cut off",  # it ends early; what came before is read
    "archive damaged",  # it cannot be unpacked any further
    "bad encoding",  # no UTF-8, or half a surrogate pair
    "bad name",  # an id or group that is no text and no number
    "cut off",  # the last line, half written
    "damaged",  # a part of a Parquet file or data set that its library cannot read
    "empty",  # nothing but white space
    "no text",  # no text column, or something else than text in it
    "not JSON",
    "NUL bytes",  # binary data, or a hole a crash left
    "too long",
    "unreadable",  # the file cannot be opened or read on
]
REASONS: tuple[str, ...] = get_args(Reason)

State: TypeAlias = dict[str, Any]  # small JSON: where to go on after an item


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is no document.

    source: the file, or the data set with its subset and split.
    place: where it begins: bytes into the (unpacked) file; rows in Parquet and data sets.
    sample: up to 200 printable characters of it, or of the error.
    """

    source: str
    place: int
    reason: Reason
    sample: str


Item: TypeAlias = tuple[Document | Fault, State]


def fault(source: str, place: int, reason: Reason, data: bytes | str) -> Fault:
    """A fault with a sample from the beginning of `data`."""
    text = data[: 4 * _SAMPLE].decode(errors="replace") if isinstance(data, bytes) else data
    shown = (c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text[:_SAMPLE])
    return Fault(source, place, reason, "".join(shown))
