"""A page's folder, put there as a whole: the page, its figures and its numbers."""

import csv
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import wrap
from typing import Any

from tongues.core.errors import UserError
from tongues.core.extras import require
from tongues.core.files import check_writable, whole_directory, whole_file, write_json, write_text
from tongues.core.pages.blocks import Figure, Page
from tongues.core.pages.html import page_as_html
from tongues.core.pages.theme import config

_MARK = "report.json"  # a folder that holds it is a page's, and may be replaced by one
_NUMBERED = [re.compile(start + r"((?:clip|gradient_)\d+)") for start in ('id="', r"url\(#")]
_SCALE = 2  # pixels of a PNG to a pixel of the figure
_WIDTH = 430  # pixels of one panel in an SVG or PNG
_LETTER = 5.7  # pixels, about


def check_folder(out: Path) -> None:
    """Refuse a filled folder that is not a report, and any where nothing can be made."""
    require("vl_convert", "the page")
    if out.exists() and not (out / _MARK).is_file() and (out.is_file() or any(out.iterdir())):
        raise UserError("is not empty and no report", where=str(out), hint="name another folder")
    check_writable(out)


def write_page(page: Page, out: Path, progress: Callable[[str], None] = lambda _: None) -> Path:
    """Write a page with its figures and its numbers to `out`; returns its `index.html`.

    An earlier page at `out` is replaced, any other filled folder refused. `progress` gets a line
    for each step.
    """
    check_folder(out)
    with whole_directory(out) as aside:
        write_figures(page.figures, aside / "figures", progress)
        progress("writing the page")
        write_text(aside / "index.html", page_as_html(page))
        head = {"title": page.title, "versions": dict(page.versions)}
        write_json(aside / _MARK, head | dict(page.numbers))
    return out / "index.html"


def write_figures(
    figures: Iterable[Figure], folder: Path, progress: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """Write each figure as NAME.svg, NAME.png and NAME.csv; returns the SVG files.

    Files of these names are replaced, each whole or not at all; others stay. `progress` gets
    a line for each step.
    """
    require("vl_convert", "the figures")
    import vl_convert

    if folder.is_file():
        raise UserError("is a file, and figures need a folder", where=str(folder))
    written = []
    for figure in figures:
        progress(f"drawing {figure.title.lower()}")
        spec = chart_of(figure).to_dict(validate=False)  # panels were checked when they were made
        spec["config"] = config("light", paper=True)
        svg = _renumbered(vl_convert.vegalite_to_svg(spec))
        path = folder / f"{figure.name}.svg"
        write_text(path, svg)
        with whole_file(path.with_suffix(".png")) as aside:
            aside.write_bytes(vl_convert.svg_to_png(svg, scale=_SCALE))
        with (
            whole_file(path.with_suffix(".csv")) as aside,
            aside.open("w", encoding="utf-8", newline="") as file,
        ):
            names = dict.fromkeys(name for row in figure.rows for name in row)
            writer = csv.DictWriter(file, list(names))
            writer.writeheader()
            writer.writerows(figure.rows)
        written.append(path)
    return written


def chart_of(figure: Figure) -> Any:
    """All panels in one altair chart of fixed width, with the caption."""
    import altair as alt

    sized = [panel.properties(width=_WIDTH) for panel in figure.panels]
    caption = wrap(figure.caption, width=int(figure.columns * _WIDTH / _LETTER))
    title = alt.TitleParams(figure.title, subtitle=caption, fontSize=17, offset=18)
    chart = alt.concat(*sized, columns=figure.columns).properties(title=title)
    return chart.resolve_scale(color="independent")  # as on a page, a legend to each panel


def _renumbered(svg: str) -> str:
    """The same picture with ids counted from 0, so that one figure always gives the same bytes."""
    names: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        name = names.setdefault(found[1], f"part{len(names)}")
        return found[0].removesuffix(found[1]) + name

    for pattern in _NUMBERED:  # each begins with letters, which are found many times sooner
        svg = pattern.sub(renamed, svg)
    return svg
