"""What could not be read, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tongues.text.document import Document

__all__ = ["LONGEST", "REASONS", "Fault", "Item", "Reason", "State", "fault"]

LONGEST = 10_000_000  # bytes of a document; what is longer is no document but a dump
_SAMPLE = 200  # characters

_Archive = Literal["archive cut off", "archive damaged", "cut off", "damaged", "unreadable"]
_Content = Literal["bad encoding", "bad name", "empty", "no text", "not JSON", "NUL bytes"]
Reason = Literal[_Archive, _Content, "too long"]
REASONS: Mapping[str, str] = {
    "archive cut off": "the archive ends early; what came before is read",
    "archive damaged": "the archive cannot be unpacked any further",
    "bad encoding": "not UTF-8, or half a surrogate pair",
    "bad name": "its id or group is neither text nor a number",
    "cut off": "the last line, half written",
    "damaged": "a part of the file that cannot be read",
    "empty": "nothing but white space",
    "no text": "no text column, or something else in it",
    "not JSON": "a line that is not JSON",
    "NUL bytes": "binary data, or a hole that a crash left",
    "too long": "longer than a document can be",
    "unreadable": "the file cannot be opened or read on",
}

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
