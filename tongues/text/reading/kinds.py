"""Plain text, and rows of JSON lines, JSON and CSV by the standard library."""

import csv
import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tongues.core.files import path_text
from tongues.text.document import Document
from tongues.text.reading.files import ENDED, TextFile
from tongues.text.reading.origin import LONGEST, Broken, Fault, Item, Row, State
from tongues.text.reading.streams import Line, size_of

_HALF = ("not JSON", "bad encoding")  # faults of half a line
_WHOLE = 100_000_000  # bytes of a JSON file; chosen: ten times that is a gigabyte of memory
_USE_LINES = "more than 100 MB of JSON; write one object a line (.jsonl)"


def read_plain(file: TextFile, state: State) -> Iterator[Item]:
    """The file is one document and one group.

    With `documents: paragraphs` each block between blank lines is a document, or some lines of a
    long one. Blocks that begin in the same part of the file are one group, so the split keeps a
    chapter together and can still divide a crawl.
    """
    if not file.by_paragraphs:
        yield _whole(file), ENDED
        return
    for held in _paragraphs(file.lines(state), file.part):
        first, last = held[0], held[-1]
        data = b"\n".join(line.data for line in held).removesuffix(b"\r")
        whole = Line(first.place, first.number, last.after, data, last.ended)
        group = f"{file.source}#{whole.place // file.part}"
        item = _document(file, whole, f"{file.source}:{whole.number}", group)
        yield item, {"place": last.after, "line": last.number + 1}


def _paragraphs(each: Iterable[Line], most: int) -> Iterator[list[Line]]:
    """The lines between blank ones, about `most` bytes of them: some texts have no blank one."""
    held: list[Line] = []
    for line in each:
        if held and (line.blank or line.after - held[0].place > LONGEST):
            yield held
            held = []
        if not line.blank:
            held.append(line)
            if line.after - held[0].place >= most:
                yield held
                held = []
    if held:
        yield held


def _whole(file: TextFile) -> Document | Fault:
    held, size = [], 0
    for block in file.blocks():
        size += len(block)
        if size <= 2 * LONGEST:  # the size of a longer one is counted
            held.append(block)
    return _document(file, Line(0, 1, size, b"".join(held), ended=False), "", file.source)


def _document(file: TextFile, line: Line, name: str, group: str) -> Document | Fault:
    text = file.line(line)
    if isinstance(text, Fault):
        return text
    return file.document(text.replace("\r\n", "\n"), line.place, name, group)


def read_json_lines(file: TextFile, state: State) -> Iterator[Item]:
    """A line is a document, with a column for its text and optional columns `id` and `group`.

    Blank lines are skipped.
    """
    for line in file.lines(state):
        if not line.blank:
            item = _row(file, line)
            if isinstance(item, dict):
                item = file.row(item, line.place, line.number)
            yield item, {"place": line.after, "line": line.number + 1}


def read_records(path: Path) -> Iterator[tuple[int, dict[str, Any] | Fault]]:
    """The number and row of each line of a `.jsonl` file, packed or not; lines count from 1.

    Blank lines are skipped. A line that is not a row gives a fault. Where reading fails, the last
    item is a fault with the number of the last line.
    """
    file, number = TextFile(path_text(path), path=path), 0
    try:
        for line in file.lines():
            number = line.number
            if not line.blank:
                yield number, _row(file, line)
    except Broken as error:
        yield number, file.fault(error.place, error.reason, error.sample)


def _row(file: TextFile, line: Line) -> dict[str, Any] | Fault:
    """The row of a line; half a row at the end of a file is the fault `cut off`."""
    text = file.line(line)
    row: Any = text
    if isinstance(text, str):
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            row = file.fault(line.place, "not JSON", text)
        if not isinstance(row, dict | Fault):
            return file.fault(line.place, "no text", text)
    if isinstance(row, Fault) and row.reason in _HALF and not line.ended:
        return replace(row, place=line.place, reason="cut off")
    return row


def read_objects(file: TextFile, state: State) -> Iterator[Item]:
    """The objects of a list, which may be inside an object; texts alone are rows too."""
    return _table(file, _json_rows(file), state)


def read_csv(file: TextFile, state: State) -> Iterator[Item]:
    """A row is a document; the first line names the columns, and shows what divides them."""
    return _table(file, _csv_rows(file, (",", ";", "\t")), state)


def read_tsv(file: TextFile, state: State) -> Iterator[Item]:
    """As `read_csv`, of columns divided by tabs alone."""
    return _table(file, _csv_rows(file, ("\t",)), state)


def _table(file: TextFile, rows: Iterable[Row | Fault], state: State) -> Iterator[Item]:
    """Every row from `state["row"]` on; those before are read again."""
    start = state.get("row", 0)
    for number, row in enumerate(rows, start=1):
        if number > start:
            if isinstance(row, Fault):
                item = replace(row, place=number - 1)
            else:
                item = file.row(row, number - 1, number)
            yield item, {"row": number}


def _json_rows(file: TextFile) -> Iterator[Row]:
    """The objects, from all of the file, which is held in memory."""
    held, size = [], 0
    for block in file.blocks():
        held.append(block)
        size += len(block)
        if size > _WHOLE:
            raise Broken("too long", 0, _USE_LINES)
    try:
        value = json.loads(b"".join(held).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Broken("bad encoding", 0, str(error)) from None
    except (ValueError, RecursionError) as error:
        raise Broken("not JSON", 0, str(error)) from None
    text = file.columns.text
    if isinstance(value, dict) and text not in value:
        value = next((each for each in value.values() if isinstance(each, list)), [value])
    for row in value if isinstance(value, list) else [value]:
        yield row if isinstance(row, dict) else {text: row}


def _csv_rows(file: TextFile, marks: tuple[str, ...]) -> Iterator[Row | Fault]:
    """The rows below the names."""
    csv.field_size_limit(LONGEST)
    written = _written(file)
    head = next(written, "")
    mark = max(marks, key=head.count)
    names = next(csv.reader([head], delimiter=mark), [])
    if file.columns.text not in names:
        yield file.no_column(0, names, size_of(file.path))
        return
    for row in _fields(written, names, mark):
        if isinstance(row, str):
            yield file.fault(0, "damaged", row)
        else:
            yield dict(zip(names, row, strict=False)) | dict.fromkeys(names[len(row) :], "")


def _fields(written: Iterator[str], names: Sequence[str], mark: str) -> Iterator[list[str] | str]:
    """The fields of each row; where a quotation mark quotes nothing, those of the unquoted line.

    In a TSV file no quoted field holds a tab: one that does is several rows with odd marks. Of a
    CSV file, an unquoted line without a field for each name is yielded as it is, for a fault.
    """
    again: deque[str] = deque()
    taken: list[str] = []  # lines of the row that is read
    broken: list[Broken] = []

    def feed() -> Iterator[str]:
        try:
            while True:
                taken.append(again.popleft() if again else next(written))
                yield taken[-1]
        except StopIteration:
            return
        except Broken as error:
            broken.append(error)

    while True:
        try:
            for row in csv.reader(feed(), delimiter=mark, strict=True):
                if mark == "\t" and any(mark in field for field in row):
                    break
                if row:  # no blank line
                    yield row
                taken.clear()
            else:
                break
        except csv.Error:
            pass
        line, *rest = taken
        again.extendleft(reversed(rest))
        taken.clear()
        row = line.removesuffix("\n").split(mark)
        yield row if mark == "\t" or len(row) == len(names) else line
    if broken:
        raise broken[0]


def _written(file: TextFile) -> Iterator[str]:
    for line in file.lines():
        if line.too_long:
            raise Broken("too long", line.place, f"line {line.number}")
        try:
            yield line.data.decode().removeprefix("\ufeff").removesuffix("\r") + "\n"
        except UnicodeDecodeError as error:
            raise Broken("bad encoding", line.place, str(error)) from None
