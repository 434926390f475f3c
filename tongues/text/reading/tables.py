"""Documents from JSON and CSV files, and the text of HTML, by the standard library."""

import csv
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from tongues.files import path_text
from tongues.recipe import Files
from tongues.text.reading.remote import Place
from tongues.text.reading.rows import LONGEST, Item, State, read_row
from tongues.text.reading.streams import Broken, blocks, lines

__all__ = ["html_text", "read_table_file"]

_WHOLE = 100_000_000  # bytes of a JSON file, which is held in memory
_HIDDEN = ("script", "style", "head", "noscript", "template", "svg", "nav", "form")
_INLINE = "a abbr b bdi bdo cite code em font i kbd mark q s samp small span strong sub sup u var"


def read_table_file(
    path: Place, kind: str, lang: str, settings: Files, state: State
) -> Iterator[Item]:
    """Stream the rows of a file from row `state["row"]` on as documents; may raise Broken."""
    source, start = path_text(path), state.get("row", 0)
    rows = _json_rows(path, settings) if kind == "json" else _csv_rows(path, kind, settings)
    for number, row in enumerate(rows, start=1):
        if number > start:
            name = f"{source}:{number}"
            item = read_row(row, settings.columns, lang, source, number - 1, name)
            yield item, {"row": number}


def html_text(markup: str) -> str:
    """The text of a page, a block a line, without scripts, menus and forms."""
    page = _Page()
    page.feed(markup)
    page.close()
    lines = (" ".join(line.split()) for line in "".join(page.parts).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in _HIDDEN
        self.parts.append("" if tag in _INLINE.split() else "\n")

    def handle_endtag(self, tag: str) -> None:
        self.hidden = max(self.hidden - (tag in _HIDDEN), 0)
        self.parts.append("" if tag in _INLINE.split() else "\n")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(re.sub(r"\s+", " ", data))


def _json_rows(path: Place, settings: Files) -> Iterator[dict[str, Any]]:
    """The objects of a list, which may be inside an object; texts alone are rows too."""
    held, size = [], 0
    for block in blocks(path, encoding=settings.encoding):
        held.append(block)
        size += len(block)
        if size > _WHOLE:
            raise Broken(
                "too long", 0, "more than 100 MB of JSON; write one object a line (.jsonl)"
            )
    try:
        value = json.loads(b"".join(held).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Broken("bad encoding", 0, str(error)) from None
    except (ValueError, RecursionError) as error:
        raise Broken("not JSON", 0, str(error)) from None
    text = settings.columns.text
    if isinstance(value, dict) and text not in value:
        value = next((each for each in value.values() if isinstance(each, list)), [value])
    for row in value if isinstance(value, list) else [value]:
        yield row if isinstance(row, dict) else {text: row}


def _csv_rows(path: Place, kind: str, settings: Files) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(LONGEST)
    written = _csv_lines(path, settings.encoding)
    head = next(written, "")
    marks = {mark: head.count(mark) for mark in (",", ";", "\t")}
    mark = "\t" if kind == "tsv" else max(marks, key=marks.__getitem__)
    names = next(csv.reader([head], delimiter=mark), [])
    if settings.columns.text not in names:
        raise Broken("no text", 0, f"the columns are {', '.join(names)}")
    try:
        yield from csv.DictReader(written, names, delimiter=mark, restval="")
    except csv.Error as error:
        raise Broken("damaged", 0, str(error)) from None


def _csv_lines(path: Place, encoding: str) -> Iterator[str]:
    for line in lines(blocks(path, encoding=encoding)):
        if line.too_long:
            raise Broken("too long", line.place, f"line {line.number}")
        try:
            yield line.data.decode().removeprefix("\ufeff").removesuffix("\r") + "\n"
        except UnicodeDecodeError as error:
            raise Broken("bad encoding", line.place, str(error)) from None
