"""A page's folder, put there as a whole: the page, its figures and its numbers."""

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from textwrap import wrap
from typing import Any

from tongues.core.errors import UserError, printable
from tongues.core.extras import require
from tongues.core.files import check_writable, whole_directory, whole_file, write_json, write_text
from tongues.core.pages import blocks as b
from tongues.core.pages.blocks import Block, Cell, Figure, Page, Table
from tongues.core.pages.theme import config

_FORMULAS = ("=", "+", "-", "@", "\t", "\n")  # how a cell begins that a spreadsheet computes

# Labels that may be cut: vl-convert fails where that is between the halves of such a letter.
_CUT, _ASTRAL = 12, re.compile("[\U00010000-\U0010ffff]")

# Blocks as HTML, and the self-contained page around them.

_MARKS = (
    (re.compile(r"`([^`]*)`"), r'<span class="lang">\1</span>'),
    (re.compile(r"\*\*(.+?)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"\[([^\]]*)\]\((#[^)\s]*)\)"), r'<a href="\2">\1</a>'),
    (re.compile(r"\[([^\]]*)\]\{\.([\w-]+)\}"), r'<span class="\2">\1</span>'),
    (re.compile(r"\^\{([^}]*)\}"), r"<sup>\1</sup>"),
)
_NUMBERS = (  # a true minus, 2e12 as people write it, a unit that stays with its number
    (re.compile(r"(?<![\w.])-(?=\d)"), "−"),
    (re.compile(r"(?<=\d)e\+0*(?=\d)"), "e"),
    (re.compile(r"(?<=\d) (?=%)"), "\u00a0"),
)


def page_as_html(page: Page) -> str:
    """The whole page in one file; its figures' files are expected in `figures/` next to it."""
    made = " · ".join(f"{name} {version}" for name, version in page.versions.items())
    body = (
        f"<header><h1>{escape(page.title)}</h1>{as_html(page.lead)}</header>{as_html(page.blocks)}"
        f'<footer>{escape(made)} · <a href="report.json">all numbers as JSON</a></footer>'
    )
    drawing = {
        "palettes": {palette: config(palette) for palette in ("light", "dark")},
        "panels": [panel.to_dict() for figure in page.figures for panel in figure.panels],
    }
    data = json.dumps(drawing, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(page.title)}</title><style>{_file('page.css')}</style></head>"
        f"<body><main>{body}</main>"
        f'<script type="application/json" id="drawing">{data}</script>'
        f"<script>{_library()}</script>"
        f'<script type="module">{_file("page.js")}</script></body></html>\n'
    )


def as_html(blocks: Sequence[Block]) -> str:
    """Blocks one after the other."""
    return "".join(_block(block) for block in blocks if block)


def prose(sentence: str) -> str:
    """A marked sentence as HTML: languages set apart, numbers kept with their units."""
    return _marked(escape(sentence), *_MARKS, *_NUMBERS)


def _marked(text: str, *marks: tuple[re.Pattern[str], str]) -> str:
    for mark, instead in marks:
        text = mark.sub(instead, text)
    return text


def _block(block: b.Shown) -> str:
    match block:
        case str():
            return f'<p class="quiet">{prose(block)}</p>'
        case b.Heading():
            return f"<h3>{prose(block.text)}</h3>"
        case b.Paragraph():
            return f"<p{_kind(block.kind)}>{prose(block.text)}</p>"
        case b.Items():
            lines = "".join(f"<li>{prose(sentence)}</li>" for sentence in block.sentences)
            return f"<ul{_kind(block.kind)}>{lines}</ul>"
        case b.Tiles(tiles=[]):
            return ""
        case b.Tiles():
            each = "".join(
                f"<div{_kind(tile.kind)}>{prose(tile.label)}<strong>{prose(tile.value)}</strong>"
                f"<small>{prose(tile.below)}</small></div>"
                for tile in block.tiles
            )
            return f'<div class="tiles">{each}</div>'
        case b.Terms():
            rows = (f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in block.values.items())
            return f"<dl>{''.join(rows)}</dl>"
        case b.Quote():
            tags = f'lang="{escape(block.lang)}" dir="auto"'
            return f"<blockquote {tags}>{escape(block.text)}</blockquote>"
        case b.Details():
            count = f' <span class="quiet">{escape(block.count)}</span>' if block.count else ""
            head = f"<summary>{escape(block.summary)}{count}</summary>"
            tag = "details open" if block.open else "details"
            return f"<{tag}>{head}{as_html(block.blocks)}</details>"
        case b.Section():
            head = f"<h2>{prose(block.title)}</h2>" if block.title else ""
            place = f' id="{escape(block.place)}"' if block.place else ""
            return f"<section{place}>{head}{as_html(block.blocks)}</section>"
        case b.Table():
            return _table(block)
        case b.Figure():
            return _figure(block)


def _table(table: Table) -> str:
    """A narrow screen moves it sideways."""
    columns = table.columns
    words = [not column.numbers for column in columns]
    rows = [("th", [column.head for column in columns]), *(("td", row) for row in table.cells)]
    lines = (
        "".join(_cell(tag, cell, left) for cell, left in zip(row, words, strict=True))
        for tag, row in rows
    )
    inside = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="wide"><table>{inside}</table></div>'


def _cell(tag: str, cell: Cell, left: bool) -> str:
    text = _marked(escape(cell.text), *(() if cell.code else _NUMBERS))
    text = f'<code dir="auto">{text}</code>' if cell.code else text
    text = f'<a href="{escape(cell.link)}">{text}</a>' if cell.link else text
    text = f"<strong>{text}</strong>" if cell.strong and text else text
    kind = " ".join(filter(None, (cell.kind, "quiet" * cell.quiet)))
    if kind or cell.title:
        title = f' title="{escape(cell.title)}"' if cell.title else ""
        text = f"<span{_kind(kind)}{title}>{text}</span>"
    notes = (("", cell.below), ("after", cell.after))
    small = "".join(f"<small{_kind(kind)}>{prose(text)}</small>" for kind, text in notes if text)
    return f"<{tag}{_kind('word' * left)}>{text}{small}</{tag}>"


def _figure(figure: Figure) -> str:
    panels = "".join('<div class="panel"></div>' for _ in figure.panels)
    path = f"figures/{figure.name}"
    image = f'<img src="{path}.svg" alt="{escape(figure.title)}">'
    return (
        f'<figure id="{figure.name}"><h2>{escape(figure.title)}</h2>'
        f"<figcaption>{prose(figure.caption)}</figcaption>"
        f'<div class="panels" style="--columns:{figure.columns}">{panels}</div>'
        f"<noscript>{image}</noscript>"
        f'<p class="links">{_pictures(figure.name)}<a href="{path}.csv">data</a></p></figure>'
    )


def _pictures(name: str) -> str:
    links = (f'<a href="figures/{name}.{kind.lower()}">{kind}</a> · ' for kind in ("SVG", "PNG"))
    return "".join(links)


def _kind(kind: str) -> str:
    return f' class="{escape(kind)}"' if kind else ""


def _file(name: str) -> str:
    return (files("tongues.core.pages") / name).read_text(encoding="utf-8")


@cache
def _library() -> str:
    import vl_convert

    library = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    assert "</script" not in library, "the script would end its element"
    return library


_MARK = "report.json"  # a folder that holds it is a page's, and may be replaced by one
_NUMBERED = [re.compile(start + r"((?:clip|gradient_)\d+)") for start in ('id="', r"url\(#")]
_SCALE = 2  # pixels of a PNG to a pixel of the figure
_WIDTH = 430  # pixels of one panel in an SVG or PNG
_LETTER = 5.7  # pixels, about
_DRAWING: dict[int, "subprocess.Popen[bytes]"] = {}  # by the process that started it
_DRAW = """
import json, sys, vl_convert
for line in sys.stdin:
    print(json.dumps(vl_convert.vegalite_to_svg(json.loads(line))), flush=True)
"""
_UNDRAWN = (
    "Caution: files of figures are missing: the process that draws them failed. A limit on "
    "address space (`ulimit -v`) does that (figures_not_drawn)."
)


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
        drawn = {path.stem for path in write_figures(page.figures, aside / "figures", progress)}
        missing = [figure.name for figure in page.figures if figure.name not in drawn]
        if missing:
            page = replace(page, lead=[*page.lead, b.Paragraph(_UNDRAWN, "doubt")])
        progress("writing the page")
        html = page_as_html(page)
        for name in missing:
            image = rf'<noscript><img src="figures/{re.escape(name)}\.svg"[^>]*></noscript>'
            html = re.sub(image, "", html.replace(_pictures(name), ""))
        write_text(aside / "index.html", printable(html))
        head = {"title": page.title, "versions": dict(page.versions)}
        write_json(aside / _MARK, head | dict(page.numbers))
    return out / "index.html"


def write_figures(
    figures: Iterable[Figure], folder: Path, progress: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """Write each figure as NAME.svg, NAME.png and NAME.csv; returns the SVG files.

    Files of these names are replaced, each whole or not at all; others stay. A figure that cannot
    be drawn is its CSV alone, and older pictures of it leave. `progress` gets a line for each step.
    """
    require("vl_convert", "the figures")
    import vl_convert

    if folder.is_file():
        raise UserError("is a file, and figures need a folder", where=str(folder))
    written, undrawn = [], False
    for figure in figures:
        progress(f"drawing {figure.title.lower()}")
        # panels were checked when they were made; a control character would end this process
        spec = _printable(chart_of(figure).to_dict(validate=False))
        spec["config"] = config("light", paper=True)
        path = folder / f"{figure.name}.svg"
        if svg := _svg(spec):
            write_text(path, svg)
            with whole_file(path.with_suffix(".png")) as aside:
                aside.write_bytes(vl_convert.svg_to_png(svg, scale=_SCALE))
            written.append(path)
        else:
            undrawn = True
            for picture in (path, path.with_suffix(".png")):
                picture.unlink(missing_ok=True)
        with (
            whole_file(path.with_suffix(".csv")) as aside,
            aside.open("w", encoding="utf-8", newline="") as file,
        ):
            names = dict.fromkeys(name for row in figure.rows for name in row)
            writer = csv.DictWriter(file, list(names))
            writer.writeheader()
            writer.writerows(
                {name: _no_formula(value) for name, value in row.items()} for row in figure.rows
            )
    if undrawn:
        progress(_UNDRAWN)
    return written


def _svg(spec: Any) -> str | None:
    """A chart as SVG, drawn in a process of its own; None where that fails.

    V8 reserves tens of GB of address space, ends its process where it gets none, and needs a
    standard input.
    """
    process = _DRAWING.pop(os.getpid(), None)  # of one that was interrupted an answer is left
    if process is None or process.poll() is not None:
        command = [sys.executable, "-P", "-c", _DRAW]
        pipe, none = subprocess.PIPE, subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=none)
    assert process.stdin
    assert process.stdout
    try:
        process.stdin.write(json.dumps(spec).encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
        _DRAWING[os.getpid()] = process
    except BrokenPipeError:
        line = b""
    if not line:
        process.wait()
    return _renumbered(json.loads(line)) if line else None


def _printable(value: Any) -> Any:
    """The same with every text in it as a page shows it."""
    if isinstance(value, dict):
        return {printable(key): _printable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(each) for each in value]
    text = printable(value) if isinstance(value, str) else value
    long = isinstance(text, str) and len(text) > _CUT
    return _ASTRAL.sub("\ufffd", text) if long else text


def _no_formula(value: Any) -> Any:
    """A text that no spreadsheet computes: one that begins like a formula is quoted."""
    text = printable(value) if isinstance(value, str) else value
    return f"'{text}" if isinstance(text, str) and text[:1] in _FORMULAS else text


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
