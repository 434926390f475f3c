"""Documents from the user's files, each with the state to resume from after it."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from tongues.core.files import path_text
from tongues.recipe import Columns, Files
from tongues.text.document import Document
from tongues.text.reading.parquet import read_parquet
from tongues.text.reading.rows import (
    LONGEST,
    Fault,
    Item,
    State,
    decode,
    fault,
    no_text_column,
    read_row,
    read_text,
)
from tongues.text.reading.streams import Broken, Line, blocks, content_kind, lines, size_of
from tongues.text.reading.tables import read_table_file

_STRETCH = 250_000  # bytes of a file of paragraphs that make a group
_HALF = ("not JSON", "bad encoding")  # faults of half a line
_OF_ROWS = ("jsonl", "ndjson", "parquet", "json", "csv", "tsv")  # files that have columns
_ROWS = 100  # of a file, in which its columns are looked for
_ENDED: State = {"ended": True}


def read_file(path: Path, lang: str, settings: Files, start: State | None = None) -> Iterator[Item]:
    """Stream the documents of a file, and a fault for each part that is not a document.

    start: the state of an item; reading resumes after that item. Compressed files are unpacked up
    to there first. No file raises an error: faults report what cannot be read.

    - `.txt`: the file is one document and one group. With `documents: paragraphs` each block
      between blank lines is a document, or 250 kB of its lines; blocks that begin in the same
      250 kB of the file are one group, so the split keeps a chapter together and can still divide
      a crawl.
    - `.jsonl`: a line is a document, with a column for its text and optional columns `id` and
      `group`. Blank lines are skipped.
    - `.parquet`: a row is a document, with the same columns.

    - `.json`, `.csv`, `.tsv`: an object of a list or a row is a document, with the same columns.
    - `.md` as `.txt`.

    Documents longer than 10 MB are faults. Byte order marks and, in `.txt`, the line ends of
    Windows are removed; the text is otherwise unchanged.
    """
    state = start or {}
    kind = content_kind(path.name)
    if state.get("ended"):
        return
    if kind == "parquet":
        items = read_parquet(path, lang, settings.columns, state)
    elif kind in ("jsonl", "ndjson"):
        items = _read_lines(path, lang, settings, state)
    elif kind in ("json", "csv", "tsv"):
        items = read_table_file(path, kind, lang, settings, state)
    elif settings.documents == "paragraphs":
        items = _read_paragraphs(path, lang, settings.encoding, state)
    else:
        items = _read_whole(path, lang, settings.encoding)
    try:
        yield from items
    except Broken as error:
        lost = 0 if error.place else size_of(path)
        yield fault(path_text(path), error.place, error.reason, error.sample, lost), _ENDED


def without_column(path: Path, settings: Files, name: str) -> str:
    """What columns the first rows of a file have, where none has this one; otherwise empty."""
    if content_kind(path.name) not in _OF_ROWS:
        return ""
    by_name = settings.model_copy(update={"columns": Columns(text=name)})
    items = [item for item, _ in islice(read_file(path, "", by_name), _ROWS)]
    samples = [item.sample if isinstance(item, Fault) else "" for item in items]
    missing, _, _ = no_text_column(name, ()).partition("; ")
    there = [sample.partition("; ")[2] for sample in samples if sample.startswith(missing)]
    return there[0] if there and len(there) == len(samples) else ""


def read_records(path: Path) -> Iterator[tuple[int, dict[str, Any] | Fault]]:
    """The number and row of each line of a `.jsonl` file, packed or not; lines count from 1.

    Blank lines are skipped. A line that is not a row gives a fault. Where reading fails, the last
    item is a fault with the number of the last line.
    """
    source, number = path_text(path), 0
    try:
        for line in _lines(path, "", {}):
            number = line.number
            if not line.blank:
                yield number, _of_json(line, source)
    except Broken as error:
        yield number, fault(source, error.place, error.reason, error.sample)


def _read_lines(path: Path, lang: str, settings: Files, state: State) -> Iterator[Item]:
    source, columns = path_text(path), settings.columns
    for line in _lines(path, settings.encoding, state):
        if not line.blank:
            item, name = _of_json(line, source), f"{source}:{line.number}"
            if isinstance(item, dict):
                item = read_row(item, columns, lang, source, line.place, name)
            yield item, {"place": line.after, "line": line.number + 1}


def _of_json(line: Line, source: str) -> dict[str, Any] | Fault:
    """The row of a line; half a row at the end of a file is the fault `cut off`."""
    text = _decoded(line, source)
    row: Any = text
    if isinstance(text, str):
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            row = fault(source, line.place, "not JSON", text)
        if not isinstance(row, dict | Fault):
            return fault(source, line.place, "no text", text)
    if isinstance(row, Fault) and row.reason in _HALF and not line.ended:
        return replace(row, place=line.place, reason="cut off")
    return row


def _decoded(line: Line, source: str) -> str | Fault:
    if line.too_long:
        return fault(source, line.place, "too long", line.data, line.after - line.place)
    return decode(line.data, source, line.place)


def _read_paragraphs(path: Path, lang: str, encoding: str, state: State) -> Iterator[Item]:
    source = path_text(path)
    for held in _paragraphs(_lines(path, encoding, state)):
        first, last = held[0], held[-1]
        data = b"\n".join(line.data for line in held).removesuffix(b"\r")
        whole = Line(first.place, first.number, last.after, data, last.ended)
        group = f"{source}#{whole.place // _STRETCH}"
        item = _of_text(whole, source, lang, f"{source}:{whole.number}", group)
        yield item, {"place": last.after, "line": last.number + 1}


def _paragraphs(each: Iterable[Line]) -> Iterator[list[Line]]:
    """The lines between blank ones, no more than a stretch: some texts have no blank one."""
    held: list[Line] = []
    for line in each:
        if held and (line.blank or line.after - held[0].place > LONGEST):
            yield held
            held = []
        if not line.blank:
            held.append(line)
            if line.after - held[0].place >= _STRETCH:
                yield held
                held = []
    if held:
        yield held


def _read_whole(path: Path, lang: str, encoding: str) -> Iterator[Item]:
    held, size, source = [], 0, path_text(path)
    for block in blocks(path, encoding=encoding):
        size += len(block)
        if size <= 2 * LONGEST:  # the size of a longer one is counted
            held.append(block)
    whole = Line(0, 1, size, b"".join(held), ended=False)
    yield _of_text(whole, source, lang, source, source), _ENDED


def _of_text(line: Line, source: str, lang: str, name: str, group: str) -> Document | Fault:
    text = _decoded(line, source)
    if isinstance(text, Fault):
        return text
    return read_text(text.replace("\r\n", "\n"), lang, source, line.place, name, group)


def _lines(path: Path, encoding: str, state: State) -> Iterator[Line]:
    place = state.get("place", 0)
    return lines(blocks(path, place, encoding), place, state.get("line", 1))
