"""The finished runs of the case: before and after, and a table of all of them."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from tongues.core.files import read_lines
from tongues.core.pages import text_table
from tongues.runs.record import Run, read_run

__all__ = ["ends", "finished", "run_table"]

HELD_OUT = {"ar": "ar", "en": "en-US"}  # the target, and English of other sources


def ends(folder: Path, lang: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A run's first and last evaluation of a language; the first is before training."""
    rows = [row for row in read_lines(folder / "evals.jsonl") if row["lang"] == lang]
    return rows[0], rows[-1]


def finished() -> Iterator[tuple[Path, Run]]:
    """The finished runs of the workspace, by name."""
    for record in sorted(Path("runs").glob("*/run.json")):
        run = read_run(record.parent)
        if run.status == "finished":
            yield record.parent, run


def run_rows() -> list[dict[str, str]]:
    """A row a finished run: bits per byte before and after, on Arabic and English."""
    rows: list[dict[str, str]] = []
    for folder, run in finished():
        row = {"run": folder.name, "parameters": f"{run.params['total'] / 1e6:.1f}M"}
        row |= {"tokens": f"{run.tokens:,}"}
        for name, lang in HELD_OUT.items():
            row |= {f"{name}, bits per byte": "", f"{name}, nats": ""}
            if any(line["lang"] == lang for line in read_lines(folder / "evals.jsonl")):
                before, after = ends(folder, lang)
                bits = f"{before['bits_per_byte']:.3f} → {after['bits_per_byte']:.3f}"
                row |= {f"{name}, bits per byte": bits, f"{name}, nats": f"{after['loss']:.3f}"}
        row |= {"seconds": f"{run.seconds or 0:.0f}", "date": run_date(folder)}
        rows.append(row)
    return rows


def run_table() -> str:
    """Every finished run."""
    return text_table(run_rows())


def run_date(folder: Path) -> str:
    """The day its record was last written."""
    return date.fromtimestamp((folder / "run.json").stat().st_mtime).isoformat()
