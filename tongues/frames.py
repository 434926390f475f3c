"""Rows for a notebook: as a data frame of pandas or polars, as HTML, and as aligned text."""

import sys
from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tongues.errors import UserError

_LIBRARIES = ("pandas", "polars")


def to_frame(rows: Sequence[Mapping[str, object]]) -> Any:
    """The rows as a data frame: of the library in use already, else pandas, else polars.

    Every key that any row has is a column, in the order of their first row. A UserError where
    neither library is installed.
    """
    loaded = [name for name in _LIBRARIES if name in sys.modules]
    name = next((name for name in (*loaded, *_LIBRARIES) if find_spec(name)), None)
    if name is None:
        hint = "install one by `pip install pandas` or `pip install polars`"
        raise UserError("a data frame needs pandas or polars", hint=hint)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return import_module(name).DataFrame({key: [row.get(key) for row in rows] for key in columns})


def text_table(rows: Sequence[Mapping[str, str]]) -> str:
    """The rows in aligned columns under their names; columns of numbers are aligned right."""
    columns = list(rows[0]) if rows else []
    cells = [columns, *([row[column] for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    left = [not any(row[column][:1].isdigit() for row in rows) for column in columns]
    lines = (
        "  ".join(
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(line, widths, left, strict=True)
        )
        for line in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def html_table(rows: Sequence[Mapping[str, object]], caption: str = "") -> str:
    """The rows as a small HTML table, for `_repr_html_`; None is an empty cell."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = ""
    for row in rows:
        texts = (f"{of:.4g}" if isinstance(of, float) else of for of in map(row.get, columns))
        cells = "".join(f"<td>{'' if of is None else escape(str(of))}</td>" for of in texts)
        body += f"<tr>{cells}</tr>"
    about = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{about}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
