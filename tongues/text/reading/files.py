"""Types of files with text: which endings each has, and how its documents are read.

A type is one object in one file, registered in `FILE_TYPES`; another package adds one by an entry
point of `tongues.file_types`. Archives and encodings are handled before: it gets UTF-8.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from tongues.core.files import path_text
from tongues.core.registry import Registry
from tongues.recipe import Columns, Files
from tongues.text.reading.origin import Broken, Fault, Item, Origin, State
from tongues.text.reading.streams import Line, blocks, content_kind, lines, size_of

ENDED: State = {"ended": True}  # of the only or last item of a file
PART = 250_000  # bytes of a file of paragraphs that make a group; chosen: a chapter or two
_ROWS = 100  # of a file, in which its columns are looked for; chosen: what is read at once


@dataclass(frozen=True)
class TextFile(Origin):
    """A file that is being read."""

    path: Path = Path()
    encoding: str = ""  # by default that of its byte order mark, or UTF-8
    by_paragraphs: bool = False  # whether the recipe wants documents of parts of plain text
    part: int = PART  # bytes of plain text whose paragraphs are one group

    def blocks(self) -> Iterator[bytes]:
        """All of its text, unpacked, as UTF-8; may raise Broken anywhere."""
        return blocks(self.path, encoding=self.encoding)

    def lines(self, state: State | None = None) -> Iterator[Line]:
        """Its lines, from the one after `state` on; may raise Broken anywhere."""
        place, number = (state or {}).get("place", 0), (state or {}).get("line", 1)
        return lines(blocks(self.path, place, self.encoding), place, number)

    def line(self, line: Line) -> str | Fault:
        """The text of a line."""
        if line.too_long:
            return self.fault(line.place, "too long", line.data, line.after - line.place)
        return self.decoded(line.data, line.place)


@dataclass(frozen=True, slots=True)
class FileType:
    """A type of files.

    name and summary: for people. endings: in small letters, without a dot.
    read: the documents and faults of a file after a state, each with the state after it; may raise
        Broken. A state must fit into JSON; it is empty at first, and `ENDED` once nothing follows.
    version: raised when the same file gives other documents than before.
    """

    name: str
    summary: str
    endings: tuple[str, ...]
    read: Callable[[TextFile, State], Iterator[Item]]
    version: int = 1
    has_columns: bool = False  # whether it is a table, of which a column is the text
    is_document: bool = False  # whether a file is one, unless paragraphs are asked for
    is_packed: bool = False  # whether a file holds several times its bytes of text


FILE_TYPES: Registry[FileType] = Registry("file type", "tongues.file_types")


def type_of(name: str) -> FileType | None:
    """The type of a file by the ending of its name, behind which an archive's may follow."""
    return _with_ending(content_kind(name))


@lru_cache
def _with_ending(ending: str) -> FileType | None:
    """Other packages are only asked for an ending that no type of this one has."""
    own = (each for each in FILE_TYPES.built_in if ending in each.endings)
    return next(own, None) or next((each for each in FILE_TYPES if ending in each.endings), None)


def read_file(
    path: Path, lang: str, settings: Files, start: State | None = None, part: int = PART
) -> Iterator[Item]:
    """Stream the documents of a file, and a fault for each part that is not a document.

    start: the state of an item; reading resumes after that item. Compressed files are unpacked up
    to there first. part: as of `TextFile`. No file raises an error: faults report what cannot be
    read. A file of no known ending is read as plain text.

    Documents longer than 10 MB are faults. Byte order marks and, in plain text, the line ends of
    Windows are removed; the text is otherwise unchanged.
    """
    state, kind = start or {}, type_of(path.name) or FILE_TYPES.find("text")
    if state.get("ended"):
        return
    paragraphs = settings.documents == "paragraphs"
    source = path_text(path)
    file = TextFile(source, lang, settings.columns, path, settings.encoding, paragraphs, part)
    try:
        yield from kind.read(file, state)
    except Broken as error:
        lost = 0 if error.place else size_of(path)
        yield file.fault(error.place, error.reason, error.sample, lost), ENDED


def other_columns(path: Path, settings: Files, name: str) -> tuple[str, ...] | None:
    """What columns the first rows of a file have, where none has this one; otherwise None."""
    kind = type_of(path.name)
    if kind is None or not kind.has_columns:
        return None
    by_name = settings.model_copy(update={"columns": Columns(text=name)})
    items = [item for item, _ in islice(read_file(path, "", by_name), _ROWS)]
    there = [item.columns if isinstance(item, Fault) else None for item in items]
    return there[0] if there and None not in there else None
