"""Figures as files: each as SVG, PNG and the numbers drawn as CSV."""

import csv
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from tongues.errors import UserError
from tongues.files import whole_file, write_text
from tongues.report.charts import Figure
from tongues.report.theme import config

__all__ = ["write_figures"]

_NUMBERED = re.compile(r'(id="|url\(#)((?:clip|gradient_)\d+)')
_SCALE = 2  # pixels of a PNG to a pixel of the figure


def write_figures(
    figures: Iterable[Figure],
    folder: Path,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Write each figure as NAME.svg, NAME.png and NAME.csv; returns the SVG files.

    Files of these names are replaced, each whole or not at all; others stay. `progress` is told in
    a few words what is being done.
    """
    if folder.is_file():
        raise UserError("is a file, and figures need a folder", where=str(folder))
    written = []
    for figure in figures:
        progress(f"drawing {figure.title.lower()}")
        written.append(_write(figure, folder / f"{figure.name}.svg"))
    return written


def _write(figure: Figure, path: Path) -> Path:
    import vl_convert

    # its panels were checked when they were made
    spec = figure.chart().to_dict(validate=False) | {"config": config("light", paper=True)}
    svg = _renumbered(vl_convert.vegalite_to_svg(spec))
    write_text(path, svg)
    with whole_file(path.with_suffix(".png")) as aside:
        aside.write_bytes(vl_convert.svg_to_png(svg, scale=_SCALE))
    names = list(dict.fromkeys(name for row in figure.rows for name in row))
    with (
        whole_file(path.with_suffix(".csv")) as aside,
        aside.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(figure.rows)
    return path


def _renumbered(svg: str) -> str:
    """The same picture with ids counted from 0, so that one figure always gives the same bytes."""
    names: dict[str, str] = {}

    def counted(found: re.Match[str]) -> str:
        return found[1] + names.setdefault(found[2], f"part{len(names)}")

    return _NUMBERED.sub(counted, svg)
