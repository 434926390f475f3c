"""What every page is made of: a self-contained frame, sentences, figures, tables, numbers."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from tongues.report.charts import Figure
from tongues.report.theme import config

__all__ = ["figure", "footer", "frame", "items", "number_card", "prose", "table", "word"]


def frame(title: str, body: str, figures: Sequence[Figure]) -> str:
    """The whole page in HTML around its `body`, which has a place for every figure's panels.

    The SVG, PNG and CSV files of `figures` are expected in `figures/` beside it.
    """
    drawing = {
        "palettes": {palette: config(palette) for palette in ("light", "dark")},
        "panels": [panel.to_dict() for figure in figures for panel in figure.panels],
    }
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_beside('page.css')}</style></head>"
        f"<body><main>{body}</main>"
        f'<script type="application/json" id="drawing">{_json(drawing)}</script>'
        f"<script>{_library()}</script>"
        f'<script type="module">{_beside("page.js")}</script></body></html>\n'
    )


def prose(sentence: str) -> str:
    """A sentence as HTML, languages set apart, numbers kept with their units."""
    marked = re.sub(r"`([^`]*)`", r'<span class="lang">\1</span>', escape(sentence))
    marked = re.sub(r"(?<![\w.])-(?=\d)", "−", marked)
    return re.sub(r"(?<=\d) (?=%)", "\u00a0", marked)


def items(sentences: Sequence[str], kind: str = "") -> str:
    """Sentences as a list."""
    attribute = f' class="{kind}"' if kind else ""
    return f"<ul{attribute}>{''.join(f'<li>{prose(s)}</li>' for s in sentences)}</ul>"


def number_card(number: str, between: str, what: str) -> str:
    """A number that says much, in large, with its interval or share below and what it is."""
    return (
        f"<div><strong>{prose(number)}</strong>"
        f'<span class="between">{escape(between)}</span>{prose(what)}</div>'
    )


def figure(drawn: Figure) -> str:
    """A figure with its caption, and its files to take away."""
    panels = "".join('<div class="panel"></div>' for _ in drawn.panels)
    path = f"figures/{drawn.name}"
    image = f'<img src="{path}.svg" alt="{escape(drawn.title)}">'
    return (
        f'<figure id="{drawn.name}"><h2>{escape(drawn.title)}</h2>'
        f"<figcaption>{prose(drawn.caption)}</figcaption>"
        f'<div class="panels" style="--columns:{drawn.columns}">{panels}</div>'
        f"<noscript>{image}</noscript>"
        f'<p class="links"><a href="{path}.svg">SVG</a> · <a href="{path}.png">PNG</a> · '
        f'<a href="{path}.csv">data</a></p></figure>'
    )


def word(html: str) -> str:
    """A table's cell of words, which stands to the left; numbers stand to the right."""
    return f"\0{html}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells in HTML, which a narrow screen moves sideways."""
    lines = [_row("th", head), *(_row("td", row) for row in rows)]
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def footer(versions: Mapping[str, str]) -> str:
    """The last line: what made the page, and where its numbers are."""
    said = " · ".join(f"{name} {version}" for name, version in versions.items())
    return f'<footer>{escape(said)} · <a href="report.json">all numbers as JSON</a></footer>'


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(_cell(tag, cell) for cell in cells)}</tr>"


def _cell(tag: str, cell: str) -> str:
    kind = ' class="word"' if cell.startswith("\0") else ""
    return f"<{tag}{kind}>{cell.removeprefix(chr(0))}</{tag}>"


def _beside(name: str) -> str:
    return (files("tongues.report") / name).read_text(encoding="utf-8")


def _json(thing: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(thing, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


@cache
def _library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, without a host to load from."""
    import vl_convert

    library = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    assert "</script" not in library, "the script would end its element"
    return library
