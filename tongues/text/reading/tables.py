"""Documents from JSON and CSV files, by the standard library."""

import csv
import json
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tongues.core.files import path_text
from tongues.recipe import Files
from tongues.text.reading.rows import LONGEST, Fault, Item, State, fault, no_text_column, read_row
from tongues.text.reading.streams import Broken, blocks, lines

_WHOLE = 100_000_000  # bytes of a JSON file, which is held in memory


def read_table_file(
    path: Path, kind: str, lang: str, settings: Files, state: State
) -> Iterator[Item]:
    """Stream the rows of a file from row `state["row"]` on as documents; may raise Broken."""
    source, start = path_text(path), state.get("row", 0)
    rows = _json_rows(path, settings) if kind == "json" else _csv_rows(path, kind, settings)
    for number, row in enumerate(rows, start=1):
        if number > start:
            name = f"{source}:{number}"
            if isinstance(row, Fault):
                item = replace(row, place=number - 1)
            else:
                item = read_row(row, settings.columns, lang, source, number - 1, name)
            yield item, {"row": number}


def _json_rows(path: Path, settings: Files) -> Iterator[dict[str, Any]]:
    """The objects of a list, which may be inside an object; texts alone are rows too."""
    held, size = [], 0
    for block in blocks(path, encoding=settings.encoding):
        held.append(block)
        size += len(block)
        if size > _WHOLE:
            raise Broken(
                "too long", 0, "more than 100 MB of JSON; write one object a line (.jsonl)"
            )
    try:
        value = json.loads(b"".join(held).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Broken("bad encoding", 0, str(error)) from None
    except (ValueError, RecursionError) as error:
        raise Broken("not JSON", 0, str(error)) from None
    text = settings.columns.text
    if isinstance(value, dict) and text not in value:
        value = next((each for each in value.values() if isinstance(each, list)), [value])
    for row in value if isinstance(value, list) else [value]:
        yield row if isinstance(row, dict) else {text: row}


def _csv_rows(path: Path, kind: str, settings: Files) -> Iterator[dict[str, Any] | Fault]:
    csv.field_size_limit(LONGEST)
    written = _csv_lines(path, settings.encoding)
    head = next(written, "")
    marks = {mark: head.count(mark) for mark in (",", ";", "\t")}
    mark = "\t" if kind == "tsv" else max(marks, key=marks.__getitem__)
    names = next(csv.reader([head], delimiter=mark), [])
    if settings.columns.text not in names:
        raise Broken("no text", 0, no_text_column(settings.columns.text, names))
    for row in _fields(written, names, mark):
        if isinstance(row, str):
            yield fault(path_text(path), 0, "damaged", row)
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


def _csv_lines(path: Path, encoding: str) -> Iterator[str]:
    for line in lines(blocks(path, encoding=encoding)):
        if line.too_long:
            raise Broken("too long", line.place, f"line {line.number}")
        try:
            yield line.data.decode().removeprefix("\ufeff").removesuffix("\r") + "\n"
        except UnicodeDecodeError as error:
            raise Broken("bad encoding", line.place, str(error)) from None
