"""Documents out of text and rows: what is one, and what is wrong with the rest."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tongues.core.files import fingerprint
from tongues.recipe import Columns
from tongues.text.document import Document

LONGEST = 10_000_000  # bytes of a document; what is longer is no document but a dump
_SAMPLE = 200  # characters

_File = Literal["archive cut off", "archive damaged", "cut off", "damaged", "unreadable"]
_Content = Literal["bad encoding", "bad name", "empty", "no text", "not JSON", "NUL bytes"]
Reason = Literal[_File, _Content, "too long"]
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

State: TypeAlias = dict[str, Any]  # small JSON: where to resume after an item


@dataclass(frozen=True, slots=True)
class Fault:
    """A part of a source that is not a document.

    source: the file, or the data set with its subset and split.
    place: where it begins: in bytes of the (unpacked) file, or in rows of Parquet and data sets.
    sample: up to 200 printable characters of it, or of the error. size: bytes of it, where known.
    """

    source: str
    place: int
    reason: Reason
    sample: str
    size: int = 0


Item: TypeAlias = tuple[Document | Fault, State]


def fault(
    source: str, place: int, reason: Reason, data: bytes | str, size: int | None = None
) -> Fault:
    """A fault with a sample from the beginning of `data`; size: if it is not that of `data`."""
    if size is None:
        size = len(data.encode(errors="replace")) if isinstance(data, str) else len(data)
    text = data[: 4 * _SAMPLE].decode(errors="replace") if isinstance(data, bytes) else data
    shown = (c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text[:_SAMPLE])
    return Fault(source, place, reason, "".join(shown), size)


def decode(data: bytes, source: str, place: int) -> str | Fault:
    """UTF-8 text without a byte order mark; `place` is where `data` begins, in bytes."""
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        begin = max(error.start - 40, 0)
        sample = data[begin : begin + 1000]
        return fault(source, place + error.start, "bad encoding", sample, len(data))


def read_text(
    text: str, lang: str, source: str, place: int, name: str, group: str | None
) -> Document | Fault:
    """The document called `name`, when the text is fit to be one.

    Without a group it is one group with every other document of the same text.
    """
    try:
        size = len(text) if text.isascii() else len(text.encode())
        f"{name}{group}".encode()
    except UnicodeEncodeError:
        return fault(source, place, "bad encoding", text)
    if size > LONGEST:
        return fault(source, place, "too long", text)
    if "\0" in text:
        return fault(source, place, "NUL bytes", text)
    if not text or text.isspace():
        return fault(source, place, "empty", text)
    return Document(name, lang, text, group or fingerprint(text), source)


def no_text_column(name: str, there: Iterable[str]) -> str:
    """That a table has no column of the name that was given for the text, and what it has."""
    columns = ", ".join(f"`{column}`" for column in there)
    return f"there is no column `{name}`; the columns are {columns}"


def read_row(
    row: Mapping[str, Any], columns: Columns, lang: str, source: str, place: int, name: str
) -> Document | Fault:
    """The document in a row, called `name` if it has no id.

    Numbers as id or group are written out; 1.0 is 1, as tables with gaps write whole numbers.
    """
    text = row.get(columns.text)
    own, group = _written(row.get(columns.id)), _written(row.get(columns.group))
    if not isinstance(text, str) or own is None or group is None:
        shown = ", ".join(f"{key}: {str(value)[:60]}" for key, value in row.items())
        if columns.text not in row:
            shown = no_text_column(columns.text, row)
        return fault(source, place, "bad name" if isinstance(text, str) else "no text", shown)
    return read_text(text.removeprefix("\ufeff"), lang, source, place, own or name, group)


def _written(value: Any) -> str | None:
    """An id or group as text: empty where there is none, None if it can be no name."""
    if value is None or value != value:  # tables write NaN for a number that is missing
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_name = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) if is_name else None
