"""What a page is made of: blocks of data, which renderers turn into HTML, Markdown, text, JSON.

Sentences in blocks are marked as in Markdown: `` `language` ``, `**strong**`, `[text](#place)` for
a place on the page, `[text]{.kind}` for a colour, `x^{2}`. Cells of tables are plain text.
A string among blocks is a quiet paragraph, and None is nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from tongues.core.estimate import Estimate

if TYPE_CHECKING:  # altair takes a second to import
    import altair as alt


@dataclass(frozen=True, slots=True)
class Heading:
    """A title within a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence or more; kind: `lead`, `quiet`, `notes`, `doubt` or none."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Items:
    """Sentences one below the other; kind: `plain` without bullets, `notes` in small."""

    sentences: Sequence[str]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Tile:
    """A number in large.

    label: what it is of. below: what it means. kind: `target`, `base`, `replay` or `scratch`, for
    the colour of a role.
    """

    label: str
    value: str
    below: str = ""
    kind: str = ""

    @property
    def line(self) -> str:
        """All of it on one line."""
        return f"{self.label}: {self.value}; {self.below}".removesuffix("; ")


@dataclass(frozen=True, slots=True)
class Tiles:
    """The numbers that a page opens with, three at most."""

    tiles: Sequence[Tile]


@dataclass(frozen=True, slots=True)
class Terms:
    """Names and their values."""

    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Quote:
    """Text from outside, shown as it is; lang: its tag, empty where nobody knows."""

    text: str
    lang: str = ""


@dataclass(frozen=True, slots=True)
class Details:
    """Blocks folded away below a line."""

    summary: str
    blocks: "Sequence[Block]"
    open: bool = False
    count: str = ""  # quiet, behind the line


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks below a title, with a place of its own on the page."""

    place: str
    title: str
    blocks: "Sequence[Block]"


@dataclass(frozen=True, slots=True)
class Cell:
    """A table's cell.

    value: the number that the text shows, for programs; a column that has one is set to the right.
    below, after: in small, such as an interval. kind: a class of the style. title: shown under
    the pointer.
    """

    text: str
    value: float | Estimate | None = None
    below: str = ""
    after: str = ""
    strong: bool = False
    quiet: bool = False
    code: bool = False
    kind: str = ""
    link: str = ""
    title: str = ""

    @property
    def plain(self) -> str:
        """All of it on one line."""
        return " ".join(part for part in (self.text, self.below, self.after) if part)


Entry = str | int | Cell | None  # as rows are written; a count gets its thousands set apart


@dataclass(frozen=True, slots=True)
class Column:
    """A column as renderers draw it: its head, its cells, and whether it is set to the right."""

    head: Cell
    cells: tuple[Cell, ...]
    numbers: bool


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells below a head."""

    head: Sequence[str | Cell]
    rows: Sequence[Sequence[Entry]]

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Entry]]) -> "Table":
        """Of rows with one set of columns."""
        rows = list(rows)
        head = list(rows[0]) if rows else []
        return cls(head, [[row[name] for name in head] for row in rows])

    @property
    def columns(self) -> list[Column]:
        """The same by columns."""
        columns = list(zip(*self.cells, strict=True)) or [()] * len(self.head)
        return [
            Column(_cell(head), cells, _are_numbers(cells))
            for head, cells in zip(self.head, columns, strict=True)
        ]

    @property
    def cells(self) -> list[list[Cell]]:
        """The rows, every entry as a cell."""
        return [[_cell(entry) for entry in row] for row in self.rows]


def _are_numbers(cells: Sequence[Cell]) -> bool:
    texts = [cell.text for cell in cells if cell.text]
    return any(cell.value is not None for cell in cells) or (
        bool(texts) and all(text[0].isdigit() or text[0] in "-−+[" for text in texts)
    )


def _cell(entry: Entry) -> Cell:
    if isinstance(entry, int):
        return Cell(f"{entry:,}", entry)
    return entry if isinstance(entry, Cell) else Cell(entry or "")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: panels side by side, what one sees in them, and the numbers drawn.

    name: of its files, and its place on the page.
    """

    name: str
    title: str
    caption: str
    panels: "tuple[alt.LayerChart, ...]"
    rows: tuple[dict[str, Any], ...]

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        caption: str | Iterable[str],
        panels: "Iterable[alt.LayerChart | None]",
        rows: Iterable[dict[str, Any]],
    ) -> "Figure | None":
        """A figure where there is a panel to show; empty sentences of a caption are left out."""
        shown = tuple(panel for panel in panels if panel is not None)
        caption = caption if isinstance(caption, str) else " ".join(filter(None, caption))
        return cls(name, title, caption, shown, tuple(rows)) if shown else None

    @property
    def columns(self) -> int:
        """Panels side by side where there is room: pairs of panels stay together."""
        count = len(self.panels)
        return min(count, 3) if count % 2 else 2


Shown = (
    Heading | Paragraph | Items | Terms | Quote | str | Tiles | Details | Section | Table | Figure
)
Block = Shown | None


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its title, what is below that at once, its blocks, and what made it.

    numbers: all that the page says, for programs. versions: of the software behind it, by name.
    """

    title: str
    blocks: Sequence[Block]
    lead: Sequence[Block] = ()
    versions: Mapping[str, str] = field(
        default_factory=lambda: {name: version(name) for name in ("tongues", "altair")}
    )
    numbers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def figures(self) -> list[Figure]:
        """Every figure, in reading order."""
        return list(figures_in([*self.lead, *self.blocks]))


def figures_in(blocks: Sequence[Block]) -> Iterator[Figure]:
    """Every figure among blocks, however deep, in reading order."""
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, Section | Details):
            yield from figures_in(block.blocks)
