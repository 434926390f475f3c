"""The folder of a page: the page, its figures and its numbers, put there as a whole."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tongues.files import whole_directory, write_json, write_text
from tongues.pages import Figure, check_folder, frame, write_figures

__all__ = ["check_folder", "write_folder"]


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
        write_json(aside / "report.json", numbers)
    return out / "index.html"
