"""What every page is made of: a self-contained frame, sentences, figures, tables, numbers."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from tongues.pages import Figure, as_html, prose

__all__ = ["figure", "footer", "items", "number_card", "prose", "table", "word"]


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
    return as_html([drawn])


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
