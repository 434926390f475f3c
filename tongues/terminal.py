"""What the terminal shows: data on standard output, progress and hints on standard error."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

__all__ = ["hint", "print_json", "print_table", "progress_line", "say"]

_PLAIN_EVERY = 10.0  # seconds between plain progress lines where there is no terminal


def print_json(thing: Any) -> None:
    """One JSON object on standard output."""
    click.echo(json.dumps(thing, indent=1, ensure_ascii=False, allow_nan=False))


def print_table(rows: Sequence[Mapping[str, str]]) -> None:
    """Rows of text as an aligned table on standard output; numbers to the right."""
    if not rows or sys.stdout is None:  # closed by the caller
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in rows[0]:
        numeric = all(row[column][:1].isdigit() or row[column][:1] in "-+[" for row in rows)
        table.add_column(column, justify="right" if numeric else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(row[column]) for column in rows[0]))
    width = None if sys.stdout.isatty() else 1000
    Console(width=width, highlight=False).print(table)


def say(line: str) -> None:
    """A line on standard error."""
    click.echo(line, err=True)


def hint(line: str) -> None:
    """What to do next, on standard error."""
    click.echo(click.style(f"→ {line}", dim=True), err=True)


@contextmanager
def progress_line(title: str) -> Iterator[Callable[[float, str], None]]:
    """Hands out `show(share done, words)`: a live bar, or plain lines without a terminal."""
    if not sys.stderr.isatty():
        yield _plain_lines(title)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[words]}[/dim]"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=1.0, words="")
        yield lambda share, words: progress.update(task, completed=share, words=words)


def _plain_lines(title: str) -> Callable[[float, str], None]:
    shown = time.monotonic()

    def show(share: float, words: str) -> None:
        nonlocal shown
        if time.monotonic() - shown >= _PLAIN_EVERY:
            shown = time.monotonic()
            say(f"{title}: {share:.0%}  {words}")

    return show
