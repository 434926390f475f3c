"""Blocks as Markdown, for cards and docs, as lines for a terminal, and as plain values for JSON."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from tongues.estimate import Estimate
from tongues.pages.blocks import (
    Block,
    Callout,
    Cards,
    Cell,
    Details,
    Figure,
    Heading,
    Items,
    Page,
    Paragraph,
    Quote,
    Section,
    Spans,
    Table,
    Terms,
    Topics,
)

__all__ = ["CARD", "as_json", "as_markdown", "as_text", "card_head"]

CARD = "README.md"  # the file of a model's card
_KINDS = re.compile(r"\[([^\]]*)\]\{\.[\w-]+\}")
_LINKS = re.compile(r"\[([^\]]*)\]\(#[^)\s]*\)")
_POWERS = re.compile(r"\^\{([^}]*)\}")


def as_markdown(blocks: Sequence[Block], level: int = 2) -> str:
    """Blocks as GitHub Markdown; level: of the sections' titles."""
    return "\n\n".join(filter(None, (_markdown(block, level) for block in blocks)))


def as_text(blocks: Sequence[Block]) -> str:
    """Blocks as lines for a terminal."""
    return "\n\n".join(filter(None, map(_text, blocks)))


def as_json(page: Page) -> dict[str, Any]:
    """A page as plain values: its title, its blocks by kind, and its numbers."""
    head = {"title": page.title, "versions": dict(page.versions)}
    return {**head, "blocks": [_plain(b) for b in (*page.lead, *page.blocks)], **page.numbers}


def card_head(library: str, languages: Iterable[str], base_model: str | None = None) -> str:
    """The YAML that the hub reads, between two lines of dashes; what is not known is left out.

    base_model: its name on the hub.
    """
    lines = [f"library_name: {library}", "language:"]
    lines += [f"- {json.dumps(lang)}" for lang in languages]  # `no` unquoted is no Norwegian
    lines += [f"base_model: {json.dumps(base_model)}"] if base_model else []
    return "\n".join(["---", *lines, "---"])


def _table_lines(table: Table) -> list[str]:
    """The lines of an aligned table."""
    columns = [[_one_line(column.head), *map(_one_line, column.cells)] for column in table.columns]
    widths = [max(map(len, cells)) for cells in columns]
    right = [column.numbers for column in table.columns]
    return [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in zip(*columns, strict=True)
    ]


def _markdown(block: Block, level: int) -> str:
    match block:
        case Heading():
            return f"{'#' * (level + block.level - 2)} {_marked(block.text)}"
        case Paragraph():
            return _marked(block.text)
        case Items():
            return "\n".join(f"- {_marked(sentence)}" for sentence in block.sentences)
        case Callout():
            title = [f"**{block.title}**"] if block.title else []
            return "> " + " ".join([*title, *map(_marked, block.sentences)])
        case Topics():
            return "\n\n".join(
                f"**{_marked(name)}**\n\n{as_markdown(inside, level)}"
                for name, inside in block.blocks.items()
            )
        case Terms():
            return "\n".join(f"- {name}: {value}" for name, value in block.values.items())
        case Quote():
            return "\n".join(f"> {line}" for line in block.text.splitlines())
        case Spans():
            return f"{block.about}\n\n{_in_stretches(block)}".lstrip()
        case Details():
            return f"{'#' * (level + 1)} {block.summary}\n\n{as_markdown(block.blocks, level + 1)}"
        case Section():
            return f"{'#' * level} {_marked(block.title)}\n\n{as_markdown(block.blocks, level + 1)}"
        case Cards():
            lines = (f"- **{c.number}** {c.below} {_marked(c.what)}" for c in block.cards)
            return "\n".join(line.replace("  ", " ") for line in lines)
        case Table():
            return _markdown_table(block)
        case Figure():
            head = f"{'#' * level} {block.title}\n\n{_marked(block.caption)}"
            return f"{head}\n\n![{block.title}](figures/{block.name}.svg)"


def _in_stretches(spans: Spans) -> str:
    """`[0] some text [1] more`."""
    stretches = groupby(spans.pieces, key=lambda piece: piece[1])
    return " ".join(f"[{n}] {''.join(p[0] for p in pieces).strip()}" for n, pieces in stretches)


def _markdown_table(table: Table) -> str:
    columns = table.columns
    if not columns:
        return ""
    sides = ["---:" if column.numbers else "---" for column in columns]
    rows = [[_in_markdown(column.head) for column in columns], sides]
    rows += [[_in_markdown(cell) for cell in row] for row in table.cells]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _in_markdown(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.strong and cell.text else cell.text
    rest = cell.plain[len(cell.text) :]
    return (text + rest).replace("|", r"\|").replace("\n", " ")


def _marked(text: str) -> str:
    text = _KINDS.sub(r"\1", _LINKS.sub(r"\1", text))
    return _POWERS.sub(r"<sup>\1</sup>", text)


def _text(block: Block) -> str:
    match block:
        case Table():
            return "\n".join(_table_lines(block)) if block.head else ""
        case Section():
            return f"{_bare(block.title)}\n\n{as_text(block.blocks)}".lstrip()
        case Topics():
            return "\n\n".join(
                f"{_bare(name)}\n{as_text(inside)}" for name, inside in block.blocks.items()
            )
        case Details():
            return f"{block.summary}\n\n{as_text(block.blocks)}"
        case Figure():
            return f"{block.title}: figures/{block.name}.svg"
        case Callout():
            lines = map(_bare, block.sentences)
            return "\n".join([f"{block.title}:", *lines] if block.title else lines)
        case _:
            return _bare(_markdown(block, 2).lstrip("# "))


def _bare(text: str) -> str:
    """Without marks."""
    return re.sub(r"<sup>(.*?)</sup>", r"^\1", _marked(text)).replace("**", "")


def _one_line(cell: Cell) -> str:
    return _bare(cell.plain) if cell.marked else cell.plain


def _plain(block: Block) -> dict[str, Any]:
    kind = {"kind": type(block).__name__.lower()}
    match block:
        case Table():
            rows = [
                {_one_line(c.head): _value(c.cells[i]) for c in block.columns}
                for i in range(len(block.rows))
            ]
            return kind | {"rows": rows}
        case Section() | Details():
            title = block.title if isinstance(block, Section) else block.summary
            return kind | {"title": title, "blocks": [_plain(inside) for inside in block.blocks]}
        case Topics():
            topics = {name: [_plain(b) for b in inside] for name, inside in block.blocks.items()}
            return kind | {"blocks": topics}
        case Figure():
            return kind | {"name": block.name, "title": block.title, "caption": block.caption}
        case _:
            return kind | asdict(block)


def _value(cell: Cell) -> Any:
    if isinstance(cell.value, Estimate):
        return cell.value.to_json()
    return cell.plain if cell.value is None else cell.value
