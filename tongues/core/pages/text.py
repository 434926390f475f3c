"""Blocks as Markdown, for cards and docs, and as lines for a terminal."""

import re
from collections.abc import Mapping, Sequence

from tongues.core.pages import blocks as b
from tongues.core.pages.blocks import Block, Cell, Table

CARD = "README.md"  # the file of a model's card
_KINDS = re.compile(r"\[([^\]]*)\]\{\.[\w-]+\}")
_LINKS = re.compile(r"\[([^\]]*)\]\(#[^)\s]*\)")
_TICKS = re.compile("`+")
_POWERS = re.compile(r"\^\{([^}]*)\}")


def as_markdown(blocks: Sequence[Block], level: int = 2) -> str:
    """Blocks as GitHub Markdown; level: of the sections' titles."""
    return "\n\n".join(filter(None, (_markdown(block, level) for block in blocks if block)))


def as_text(blocks: Sequence[Block]) -> str:
    """Blocks as lines for a terminal."""
    return "\n\n".join(filter(None, (_text(block) for block in blocks if block)))


def text_table(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows in aligned columns under their names."""
    return as_text([Table.of(rows)])


def _markdown(block: b.Shown, level: int) -> str:
    title = "#" * level
    match block:
        case str():
            return _marked(block)
        case b.Heading():
            return f"{title}# {_marked(block.text)}"
        case b.Paragraph():
            return _marked(block.text)
        case b.Items():
            return "\n".join(f"- {_marked(sentence)}" for sentence in block.sentences)
        case b.Tiles():
            return "\n".join(f"- {tile.line}" for tile in block.tiles)
        case b.Terms():
            return "\n".join(f"- {name}: {value}" for name, value in block.values.items())
        case b.Quote():
            fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(block.text)), default=0))
            return f"{fence}\n{block.text.rstrip()}\n{fence}"  # lines and indents stay
        case b.Details():
            return f"{title}# {block.summary}\n\n{as_markdown(block.blocks, level + 1)}"
        case b.Section():
            return f"{title} {_marked(block.title)}\n\n{as_markdown(block.blocks, level + 1)}"
        case b.Figure():
            image = f"![{block.title}](figures/{block.name}.svg)"
            return f"{title} {block.title}\n\n{_marked(block.caption)}\n\n{image}"
        case Table():
            if not block.head:
                return ""
            sides = ["---:" if column.numbers else "---" for column in block.columns]
            rows = [[_in_markdown(column.head) for column in block.columns], sides]
            rows += [[_in_markdown(cell) for cell in row] for row in block.cells]
            return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _in_markdown(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.strong and cell.text else cell.text
    return (text + cell.plain[len(cell.text) :]).replace("|", r"\|").replace("\n", " ")


def _marked(text: str) -> str:
    text = _KINDS.sub(r"\1", _LINKS.sub(r"\1", text))
    return _POWERS.sub(r"<sup>\1</sup>", text)


def _text(block: b.Shown) -> str:
    match block:
        case Table():
            columns = block.columns
            rows = zip(*((column.head, *column.cells) for column in columns), strict=True)
            return _aligned([*rows], [column.numbers for column in columns])
        case b.Section():
            return f"{_bare(block.title)}\n\n{as_text(block.blocks)}".lstrip()
        case b.Tiles():
            return _aligned([[Cell(t.label), Cell(t.value), Cell(t.below)] for t in block.tiles])
        case b.Details():
            return f"{block.summary}\n\n{as_text(block.blocks)}"
        case b.Quote():
            return block.text.rstrip()
        case b.Figure():
            return f"{block.title}: figures/{block.name}.svg"
        case _:
            return _bare(_markdown(block, 2).lstrip("# "))


def _aligned(rows: Sequence[Sequence[Cell]], numbers: Sequence[bool] = ()) -> str:
    """Rows in columns as wide as their cells; numbers: the columns that are set to the right."""
    columns = []
    for place, cells in enumerate(zip(*rows, strict=True)):
        texts = [cell.plain for cell in cells]
        width, side = max(map(len, texts)), ">" if numbers and numbers[place] else "<"
        columns.append([f"{text:{side}{width}}" for text in texts])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _bare(text: str) -> str:
    """Without marks."""
    return re.sub(r"<sup>(.*?)</sup>", r"^\1", _marked(text)).replace("**", "")
