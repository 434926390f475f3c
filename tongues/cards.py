"""What the cards of models are written in: Markdown, below a head that the hub reads."""

import json
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["CARD", "card_head", "card_table"]

CARD = "README.md"


def card_head(library: str, languages: Iterable[str], base_model: str | None = None) -> str:
    """The YAML between two lines of dashes; what is not known is left out.

    base_model: its name on the hub.
    """
    lines = [f"library_name: {library}", "language:"]
    lines += [f"- {json.dumps(lang)}" for lang in languages]  # `no` unquoted is no Norwegian
    lines += [f"base_model: {json.dumps(base_model)}"] if base_model else []
    return "\n".join(["---", *lines, "---"])


def card_table(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows of one set of columns; those of numbers to the right."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    sides = ["---:" if _numbers(cells) else "---" for cells in columns.values()]
    lines = [list(columns), sides, *zip(*columns.values(), strict=True)]
    return "\n".join(f"| {' | '.join(map(_plain, cells))} |" for cells in lines)


def _numbers(cells: Iterable[str]) -> bool:
    return all(not cell or cell.removeprefix("-")[:1].isdigit() for cell in cells)


def _plain(cell: str) -> str:
    return cell.replace("|", r"\|").replace("\n", " ")
