"""The folder of a page: the page, its figures and its numbers, put there as a whole."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tongues.errors import UserError
from tongues.files import whole_directory, write_json, write_text
from tongues.report.charts import Figure
from tongues.report.files import write_figures
from tongues.report.html import frame

__all__ = ["check_folder", "write_folder"]

_MARK = "report.json"  # a folder that holds it is a report, and may be replaced by one


def check_folder(out: Path) -> None:
    """Refuse a filled folder that is no report."""
    if out.exists() and not (out / _MARK).is_file() and (out.is_file() or any(out.iterdir())):
        raise UserError("is not empty and no report", where=str(out), hint="name another folder")


def write_folder(
    out: Path,
    title: str,
    body: str,
    figures: Sequence[Figure],
    numbers: Mapping[str, Any],
    progress: Callable[[str], None],
) -> Path:
    """Write a page with its figures and its numbers to `out`; returns its `index.html`."""
    check_folder(out)
    with whole_directory(out) as aside:
        write_figures(figures, aside / "figures", progress)
        progress("writing the page")
        write_text(aside / "index.html", frame(title, body, figures))
        write_json(aside / _MARK, numbers)
    return out / "index.html"
