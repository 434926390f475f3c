"""Pages as data: blocks, numbers with their intervals, and renderers for each place they go.

Figures are drawn by `core.pages.plots` and `core.pages.axes`, which bring altair and are
therefore imported on their own.
"""

from tongues.core.pages.blocks import (
    Block,
    Callout,
    Cell,
    Details,
    Entry,
    Figure,
    Heading,
    Items,
    Page,
    Paragraph,
    Quote,
    Section,
    Table,
    Terms,
    Tile,
    Tiles,
    Topics,
)
from tongues.core.pages.numbers import (
    Show,
    compact,
    estimate_cell,
    fixed,
    interval,
    minus,
    number,
    percent,
    percent_cell,
    share,
    short,
    signed,
    too_few,
    value_cell,
)
from tongues.core.pages.text import CARD, as_markdown, as_text
from tongues.core.pages.write import (
    as_html,
    check_folder,
    page_as_html,
    prose,
    write_figures,
    write_page,
)

__all__ = ["CARD", "Block", "Callout", "Cell", "Details", "Entry", "Figure", "Heading", "Items"]
__all__ += ["Page", "Paragraph", "Quote", "Section", "Show", "Table", "Terms", "Tile", "Tiles"]
__all__ += ["Topics", "as_html", "as_markdown", "as_text", "check_folder", "compact"]
__all__ += ["estimate_cell", "fixed", "interval", "minus", "number", "page_as_html", "percent"]
__all__ += ["percent_cell", "prose", "share", "short", "signed", "too_few", "value_cell"]
__all__ += ["write_figures", "write_page"]
