"""JSON lines: a line is a row."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tongues.core.files import path_text
from tongues.text.reading.files import FileType, TextFile
from tongues.text.reading.origin import Broken, Fault, Item, State
from tongues.text.reading.streams import Line

_HALF = ("not JSON", "bad encoding")  # faults of half a line


class JsonLines(FileType):
    """A line is a document, with a column for its text and optional columns `id` and `group`.

    Blank lines are skipped.
    """

    name, summary = "jsonl", "an object of JSON a line, a document each"
    endings = ("jsonl", "ndjson")
    has_columns = True

    def read(self, file: TextFile, state: State) -> Iterator[Item]:
        """A document or fault for each line that is not blank."""
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
