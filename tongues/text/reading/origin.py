"""Documents out of texts and rows: what is one, and what is wrong with the rest."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from tongues.core.beside import read_beside
from tongues.core.files import fingerprint
from tongues.recipe import Columns
from tongues.text.document import Document

LONGEST = 10_000_000  # bytes of a document; what is longer is no document but a dump
_NO_COLUMN = "there is no column `{}`; the columns are {}"
_SAMPLE = 200  # characters of a fault; chosen: a line of a terminal or two

_File = Literal["archive cut off", "archive damaged", "cut off", "damaged", "unreadable"]
_Content = Literal["bad encoding", "bad name", "empty", "no text", "not JSON", "NUL bytes"]
Reason = Literal[_File, _Content, "too long"]
REASONS: Mapping[str, str] = read_beside(__file__, "reasons.toml")

State: TypeAlias = dict[str, Any]  # small JSON: where to resume after an item
Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """A part of a source that is not a document.

    source: the file, or the data set with its subset and split.
    place: where it begins: in bytes of the (unpacked) file, or in rows of Parquet and data sets.
    sample: up to 200 printable characters of it, or of the error. size: bytes of it, where known.
    columns: those that are there, where the one of the text is missing.
    """

    source: str
    place: int
    reason: Reason
    sample: str
    size: int = 0
    columns: tuple[str, ...] | None = None


Item: TypeAlias = tuple[Document | Fault, State]


class Broken(Exception):
    """A file that ends early or cannot be read on; place: the bytes that came before."""

    def __init__(self, reason: Reason, place: int, sample: str = "") -> None:
        super().__init__(reason)
        self.reason: Reason = reason
        self.place, self.sample = place, sample


@dataclass(frozen=True)
class Origin:
    """A file or a split of a data set, which makes documents and faults of what is in it."""

    source: str  # its name
    lang: str = ""
    columns: Columns = field(default_factory=Columns)

    def fault(
        self, place: int, reason: Reason, data: bytes | str, size: int | None = None
    ) -> Fault:
        """A fault with a sample from the beginning of `data`; size: if it is not that of `data`."""
        if size is None:
            size = len(data.encode(errors="replace")) if isinstance(data, str) else len(data)
        text = data[: 4 * _SAMPLE].decode(errors="replace") if isinstance(data, bytes) else data
        shown = (c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text[:_SAMPLE])
        return Fault(self.source, place, reason, "".join(shown), size)

    def no_column(self, place: int, there: Iterable[str], size: int | None = None) -> Fault:
        """That rows have no column of the name that was given for the text."""
        columns = tuple(there)
        what = _NO_COLUMN.format(self.columns.text, ", ".join(f"`{each}`" for each in columns))
        return replace(self.fault(place, "no text", what, size), columns=columns)

    def decoded(self, data: bytes, place: int) -> str | Fault:
        """UTF-8 text without a byte order mark; `place` is where `data` begins, in bytes."""
        try:
            return data.decode().removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            begin = max(error.start - 40, 0)
            sample = data[begin : begin + 1000]
            return self.fault(place + error.start, "bad encoding", sample, len(data))

    def document(
        self, text: str, place: int = 0, name: str = "", group: str | None = None
    ) -> Document | Fault:
        """The document of a text, when that is fit to be one; called by its origin without a name.

        Without a group it is one group with every other document of the same text.
        """
        name = name or self.source
        try:
            size = len(text) if text.isascii() else len(text.encode())
            f"{name}{group}".encode()
        except UnicodeEncodeError:
            return self.fault(place, "bad encoding", text)
        if size > LONGEST:
            return self.fault(place, "too long", text)
        if "\0" in text:
            return self.fault(place, "NUL bytes", text)
        if not text or text.isspace():
            return self.fault(place, "empty", text)
        return Document(name, self.lang, text, group or fingerprint(text), self.source)

    def row(self, row: Row, place: int, number: int) -> Document | Fault:
        """The document in a row, called by its number if it has no id.

        Numbers as id or group are written out; 1.0 is 1, as tables with gaps write whole numbers.
        """
        columns = self.columns
        text = row.get(columns.text)
        own, group = _written(row.get(columns.id)), _written(row.get(columns.group))
        if columns.text not in row:
            return self.no_column(place, row)
        if not isinstance(text, str) or own is None or group is None:
            shown = ", ".join(f"{key}: {str(value)[:60]}" for key, value in row.items())
            return self.fault(place, "bad name" if isinstance(text, str) else "no text", shown)
        name = own or f"{self.source}:{number}"
        return self.document(text.removeprefix("\ufeff"), place, name, group)


def _written(value: Any) -> str | None:
    """An id or group as text: empty where there is none, None if it can be no name."""
    if value is None or value != value:  # tables write NaN for a number that is missing
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_name = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) if is_name else None
