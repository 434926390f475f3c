"""Pages as data: blocks, numbers with their intervals, and renderers for each place they go.

Figures are drawn by `core.pages.plots` and `core.pages.axes`, which bring altair and are
therefore imported on their own.
"""

from tongues.core.pages.blocks import Cell, Entry, Figure, Items, Table, Tile, Tiles
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
from tongues.core.pages.text import CARD, as_markdown, as_text, text_table
from tongues.core.pages.write import check_folder, page_as_html, write_figures, write_page

__all__ = ["CARD", "Cell", "Entry", "Figure", "Items", "Show", "Table", "Tile", "Tiles"]
__all__ += ["as_markdown", "as_text", "check_folder", "compact", "estimate_cell", "fixed"]
__all__ += ["interval", "minus", "number", "page_as_html", "percent", "percent_cell", "share"]
__all__ += ["short", "signed", "text_table", "too_few", "value_cell", "write_figures", "write_page"]
