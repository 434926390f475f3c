"""Rows as aligned text."""

from collections.abc import Mapping, Sequence


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
