"""Documents out of text and rows: what is one, and what is wrong with the rest."""

from collections.abc import Mapping
from typing import Any

from tongues.files import fingerprint
from tongues.recipe import Columns
from tongues.text.document import Document
from tongues.text.reading.faults import LONGEST, Fault, fault

__all__ = ["decode", "read_row", "read_text"]


def decode(data: bytes, source: str, place: int) -> str | Fault:
    """UTF-8 text without a byte order mark; `place` is where `data` begins, in bytes."""
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        begin = max(error.start - 40, 0)
        return fault(source, place + error.start, "bad encoding", data[begin : begin + 1000])


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


def read_row(
    row: Mapping[str, Any], columns: Columns, lang: str, source: str, place: int, name: str
) -> Document | Fault:
    """The document in a row, called `name` if it has no id.

    Numbers as id or group are written out; 1.0 is 1, as tables with gaps write whole numbers.
    """
    text = row.get(columns.text)
    if not isinstance(text, str):
        return fault(source, place, "no text", _shown(row))
    own, group = _written(row.get(columns.id)), _written(row.get(columns.group))
    if own is None or group is None:
        return fault(source, place, "bad name", _shown(row))
    return read_text(text.removeprefix("\ufeff"), lang, source, place, own or name, group)


def _written(value: Any) -> str | None:
    """An id or group as text: empty where there is none, None if it can be no name."""
    if value is None or value != value:  # tables write NaN for a number that is missing
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_name = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) if is_name else None


def _shown(row: Mapping[str, Any]) -> str:
    """The beginning of each value."""
    return ", ".join(f"{key}: {str(value)[:60]}" for key, value in row.items())
