"""What the terminal shows: data on standard output, progress and hints on standard error."""

import json
import os
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import click
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Rich
from rich.text import Text

from tongues.core.errors import printable
from tongues.core.pages import Entry, Table

# What JSON leaves as it is, and a terminal obeys.
_OBEYED = (range(127, 160), range(0x202A, 0x202F), range(0x2066, 0x206A), range(0xD800, 0xE000))
_ESCAPED = {code: f"\\u{code:04x}" for codes in _OBEYED for code in codes}
_PLAIN_EVERY = 10.0  # seconds between plain progress lines where there is no terminal


class Show(Protocol):
    """What `progress_line` hands out."""

    def __call__(self, share: float, *words: str) -> None:
        """Show how far something is, from 0 to 1, and what else there is to say of it."""


def print_json(thing: Any) -> None:
    """One JSON object on standard output, in ASCII where that has not all letters."""
    plain = not (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")
    text = json.dumps(thing, indent=1, ensure_ascii=plain, allow_nan=False)
    click.echo(text.translate(_ESCAPED))


def echo(text: object = "", *, err: bool = False, nl: bool = True, **style: Any) -> None:
    """As `click.secho`, with control characters in the text replaced."""
    click.secho(printable(str(text)), err=err, nl=nl, **style)


def print_paths(paths: Iterable[Path], *, as_json: bool) -> None:
    """What a verb has written: a line each, or one JSON object; only the first rank prints."""
    if not is_first_rank():
        return
    if as_json:
        print_json({"paths": list(map(str, paths))})
        return
    for path in paths:
        echo(path)


def print_table(rows: Sequence[Mapping[str, Entry]], optional: Iterable[str] = ()) -> None:
    """Rows of text as an aligned table on standard output; numbers to the right.

    optional: columns that are left out, in this order, as far as a terminal is too narrow for all.
    """
    if not rows or sys.stdout is None:  # closed by the caller
        return
    console = Console(width=None if sys.stdout.isatty() else 1000, highlight=False)
    table, unbounded = _table(rows), console.options.update_width(10_000)
    for column in optional:
        if Measurement.get(console, unbounded, table).maximum <= console.width:
            break
        rows = [{key: row[key] for key in row if key != column} for row in rows]
        table = _table(rows)
    console.print(table)


def is_first_rank() -> bool:
    """Whether this process prints: the only one, or the first of those that torchrun started."""
    return os.environ.get("RANK", "0") == "0"


def say(line: str) -> None:
    """A line on standard error, above a live line if there is one."""
    if sys.stderr is not None and is_first_rank():  # closed by the caller
        print(printable(line), file=sys.stderr)  # click would write past the live line


def hint(line: str) -> None:
    """What to do next, on standard error; nothing under `--quiet`."""
    context = click.get_current_context(silent=True)
    if is_first_rank() and not (context and context.params.get("quiet")):
        echo(f"→ {line}", err=True, dim=True)


def hint_command(*words: object) -> None:
    """The command that comes next, as a shell takes it, in the workspace of this one."""
    context = click.get_current_context(silent=True)
    workspace = context.params.get("workspace") if context else None
    where = [] if workspace in (None, Path()) else ["--workspace", workspace]
    hint(shlex.join(map(str, [*words, *where])))


@contextmanager
def progress_line(title: str) -> Iterator[Show]:
    """Hands out `show(share done, *words)`: a live bar, or plain lines without a terminal."""
    if not is_first_rank():
        yield lambda share, *words: None
        return
    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        shown = time.monotonic()

        def line(share: float, *words: str) -> None:
            nonlocal shown
            if time.monotonic() - shown >= _PLAIN_EVERY:
                shown = time.monotonic()
                say(f"{title}: {share:.0%}  {'  '.join(words)}")

        yield line
        return
    words, share = TextColumn("{task.description}"), TextColumn("{task.percentage:3.0f}%")
    bar, below = Progress(words, BarColumn(bar_width=24), share, TimeElapsedColumn()), _Below()
    task = bar.add_task(title, total=1.0)

    def show(share: float, *words: str) -> None:
        bar.update(task, completed=share)
        below.words = words

    with Live(Group(bar, below), console=console, transient=True):
        yield show


class _Below:
    words: tuple[str, ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines: list[str] = []
        for word in self.words:
            if lines and len(lines[-1]) + 2 + len(word) <= options.max_width:
                lines[-1] += f"  {word}"
            else:
                lines.append(word)
        for line in lines:
            yield Text(printable(line), style="dim", no_wrap=True, overflow="ellipsis")


def _table(rows: Sequence[Mapping[str, Entry]]) -> Rich:
    drawn = Rich(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table = Table.of(rows)
    for column in table.columns:
        side = "right" if column.numbers else "left"
        drawn.add_column(column.head.plain, justify=side, no_wrap=True)
    for row in table.cells:
        drawn.add_row(*(Text(printable(cell.plain)) for cell in row))
    return drawn
