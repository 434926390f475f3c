"""Tables from files: CSV, JSON lines, Parquet, or the runs below a directory."""

import csv
import importlib
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tongues.core.errors import UserError, nearest
from tongues.core.extras import require
from tongues.core.magnitudes import parse_count, with_scale
from tongues.runs import record as runs

Cell = float | int | str | bool | None


@dataclass(frozen=True, slots=True, eq=False)
class RunTable:
    """Columns of equal length, and the place of each row, such as `runs.csv:17`.

    A cell of a CSV file is kept as text: `nan` may be a language. A missing cell is None.
    """

    columns: dict[str, list[Cell]]
    places: list[str]

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.places)

    def take(self, rows: Sequence[int]) -> Self:
        """The rows of these numbers, in that order."""
        columns = {name: [cells[i] for i in rows] for name, cells in self.columns.items()}
        return type(self)(columns, [self.places[i] for i in rows])


def cell_number(cell: Cell) -> float | None:
    """The number in a cell; None for a text, a truth value and a missing cell."""
    if cell is None or isinstance(cell, bool):
        return None
    try:
        return float(cell)
    except ValueError:
        return None
    except OverflowError:
        return float("inf")


def cell_amount(cell: Cell) -> float | None:
    """The number in a cell, which may be written like `20M` or `1.2 b`; None as `cell_number`."""
    number = cell_number(cell)
    return parse_count(with_scale(cell)) if number is None and isinstance(cell, str) else number


def read_table(paths: Sequence[Path]) -> RunTable:
    """The rows of all files and run directories, concatenated.

    Cells of a column that a file does not have are missing.
    """
    if not paths:
        raise UserError("no table is named", hint="name files of rows or directories of runs")
    tables = [_read(path) for path in paths]
    if len(tables) == 1:
        return tables[0]
    columns: dict[str, list[Cell]] = {
        name: [cell for one in tables for cell in one.columns.get(name) or [None] * len(one)]
        for name in dict.fromkeys(name for table in tables for name in table.columns)
    }
    return RunTable(columns, [place for table in tables for place in table.places])


def _read(path: Path) -> RunTable:
    if path.is_dir():
        table = _of_runs(path)
    elif not path.exists():
        nearby = [p.name for p in path.parent.glob("*") if p.suffix.lower() in _READERS]
        records = (*path.parent.glob("*/run.json"), *path.parent.glob("*/*/run.json"))
        nearby += {p.relative_to(path.parent).parts[0] for p in records}
        hint = f"`{path.parent}` holds no table and no folder of runs"
        hint = nearest(path.name, nearby) if nearby else hint
        raise UserError("there is no such file", where=str(path), hint=hint)
    elif not path.is_file():
        raise UserError("is not a regular file", where=str(path))
    elif (suffix := path.suffix.lower()) not in _READERS:
        hint = f"rows are read from {', '.join(_READERS)} files and directories of runs"
        raise UserError("is not a table", where=str(path), hint=hint)
    else:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UserError(f"cannot be read ({error})", where=str(path)) from None
        table = _READERS[suffix](path, data)
    if not len(table):
        raise UserError("holds no rows", where=str(path), hint="fill it or leave it out")
    return table


def _of_runs(path: Path) -> RunTable:
    try:
        rows = runs.run_rows([path])
        places = [f"{row['run']} step {row['step']} {row['lang']}" for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "run it again, or move it away"
        raise UserError(f"a run cannot be read ({error!r})", where=str(path), hint=hint) from None
    if not rows:
        hint = "name the files themselves" if any(path.glob("*.*")) else "run a study there first"
        raise UserError("holds no finished run that was evaluated", where=str(path), hint=hint)
    return _of_rows(rows, places)


def _text(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        hint = "convert it, for instance with `iconv -f latin1 -t utf-8`"
        raise UserError("is not UTF-8", where=f"{path}:{line}", hint=hint) from None


def _delimited(path: Path, data: bytes) -> RunTable:
    text = _text(path, data)
    header = re.sub(r'"[^"]*"', "", re.split(r"[\r\n]", text.lstrip(), maxsplit=1)[0])
    delimiter = max(",;\t", key=header.count)
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    names: list[str] = []
    rows: list[list[Cell]] = []
    places: list[str] = []
    line = 1
    try:
        for cells in reader:
            start, line = line, reader.line_num + 1
            if not names and cells:
                where = f"{path}:{start}"
                if all(cell_number(cell) is not None for cell in cells):
                    hint = "name the columns in the first line, like `params,tokens,loss`"
                    what = "the first line has numbers instead of column names"
                    raise UserError(what, where=where, hint=hint)
                names = [cell.strip() or f"column {i}" for i, cell in enumerate(cells, start=1)]
                _check_distinct(names, where)
            elif cells:
                if len(cells) != len(names):
                    what = f"the row has {len(cells)} cells and the header {len(names)}"
                    hint = "quote cells that hold the delimiter, and complete short rows"
                    raise UserError(what, where=f"{path}:{start}", hint=hint)
                rows.append([cell.strip() or None for cell in cells])
                places.append(f"{path}:{start}")
    except csv.Error as error:
        hint = "look for a quote that is never closed"
        raise UserError(f"is not CSV ({error})", where=f"{path}:{line}", hint=hint) from None
    return RunTable({name: [row[i] for row in rows] for i, name in enumerate(names)}, places)


def _check_distinct(names: Iterable[str], where: str) -> None:
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        hint = "give every column a name of its own"
        raise UserError(f"{times} columns are called `{name}`", where=where, hint=hint)


def _lines(path: Path, data: bytes) -> RunTable:
    rows: list[dict[str, Any]] = []
    places: list[str] = []
    for line, text in enumerate(_text(path, data).split("\n"), start=1):
        if not text.strip():
            continue
        where = f"{path}:{line}"
        try:
            row = json.loads(text)
            if "\\u" in text:
                json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            hint = "write it as UTF-8"
            raise UserError("holds half a character", where=where, hint=hint) from None
        except (ValueError, RecursionError) as error:
            hint = 'write one row a line, like {"params": 1e9, "tokens": 2e10, "loss": 2.5}'
            raise UserError(f"is not JSON ({error})", where=where, hint=hint) from None
        if not isinstance(row, dict):
            raise UserError("is not a JSON object", where=where, hint="write one row a line")
        rows.append(row)
        places.append(where)
    return _of_rows(rows, places)


def _of_rows(rows: list[dict[str, Any]], places: list[str]) -> RunTable:
    names = {name: None for row in rows for name in row}
    return RunTable({name: [_cell(row.get(name)) for row in rows] for name in names}, places)


def _cell(value: Any) -> Cell:
    known = isinstance(value, str | int | float) or value is None
    return (value if known else str(value)) if value != "" else None


def _parquet(path: Path, data: bytes) -> RunTable:
    require("pyarrow", str(path))
    arrow, parquet = map(importlib.import_module, ("pyarrow", "pyarrow.parquet"))
    try:
        content = parquet.ParquetFile(io.BytesIO(data)).read()
        names = content.column_names
        columns = [column.to_pylist() for column in content.columns]
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise UserError(f"is not Parquet ({error})", where=str(path)) from None
    _check_distinct(names or [""], str(path))
    places = [f"{path} row {i}" for i in range(1, content.num_rows + 1)]
    cells = ([_cell(value) for value in column] for column in columns)
    return RunTable(dict(zip(names, cells, strict=True)), places)


_READERS: Mapping[str, Callable[[Path, bytes], RunTable]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), _delimited),
    **dict.fromkeys((".jsonl", ".ndjson"), _lines),
    ".parquet": _parquet,
}
