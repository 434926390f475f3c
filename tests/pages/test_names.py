"""Names of all kinds, which others choose: nothing obeys them, no terminal, page, table or card."""

import csv
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import altair as alt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.golden import inputs
from tongues.core.errors import UserError, code_text
from tongues.core.pages import Figure, Items, Table, as_markdown
from tongues.core.pages.blocks import Page, Paragraph, Quote, Section, Terms
from tongues.core.pages.write import write_page
from tongues.core.terminal import echo, hint, print_json, print_paths, print_table, say
from tongues.train.metadata import base_label

OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
PIECES: list[str] = [*inputs("pieces-of-names"), "\ud800"]  # half a letter, which is not YAML
LETTERS = st.text(st.characters(codec=None), max_size=8)  # of all planes, and halves
NAMES = st.lists(st.one_of(st.sampled_from(PIECES), LETTERS), max_size=6).map("".join)


class Elements(HTMLParser):
    """The elements of a page, and their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))


@given(NAMES)
@settings(max_examples=500)
def test_a_terminal_only_shows_names(name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        lines: list[str] = []
        patch.setattr("click.secho", lambda text, **style: lines.append(text))
        patch.setattr("builtins.print", lambda text, **where: lines.append(text))
        echo(name)
        say(name)
        lines.append(str(UserError(name, where=name, hint=name)))
    assert len(lines) == 3
    assert not OBEYED.search("".join(lines))


def test_a_table_only_shows_names(capsys: pytest.CaptureFixture[str]) -> None:
    name = "".join(PIECES)
    print_table([{"name": name}])
    print_json({"name": name})
    print_paths([Path(name)], as_json=False)
    hint(name)
    shown = capsys.readouterr()
    assert not OBEYED.search(shown.out + shown.err)
    assert (shown.out + shown.err).count("QUJD") == 4


def page_of(name: str, folder: Path) -> Path:
    rows = [{"language": name, "value": 1.0}]
    data = alt.Data(values=rows)
    panel: Any = alt.Chart(data).mark_bar().encode(x="value:Q", y="language:N")
    blocks = [
        Paragraph(f"`{name}`"),
        Items([name]),
        Terms({name: name}),
        Table.of([{"model": name}]),
        Quote(name, name),
        Section("named", name, []),
    ]
    figure = Figure.of("losses", "Losses", ["Of models."], [panel], rows)
    page = Page(name, [*blocks, figure], versions={"tongues": "1"})
    return write_page(page, folder / "page")


@given(NAMES)
@example("".join(PIECES))
@settings(max_examples=20, deadline=None)
def test_no_name_is_an_element_of_a_page_or_a_formula_of_a_table(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    folder = tmp_path_factory.mktemp("named")
    html = page_of(name, folder).read_text(encoding="utf-8")
    assert not OBEYED.search(html)
    tags = [tag for tag, _ in Elements(html).found]
    assert tags.count("img") == 1 and tags.count("script") == 3
    assert not any(attr.startswith("on") for _, attrs in Elements(html).found for attr in attrs)
    with (folder / "page/figures/losses.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.DictReader(file) for cell in row.values()]
    assert not any(str(cell)[:1] in ("=", "+", "-", "@", "\t", "\n") for cell in cells)


@given(NAMES)
def test_a_name_on_a_card_stays_between_its_backticks(name: str) -> None:
    card = as_markdown([Paragraph(f"from `{code_text(name)}`")])
    assert card.count("`") == 2
    assert "\n" not in card
    assert not OBEYED.search(code_text(name))


def test_a_base_is_named_on_a_card_without_markup(tmp_path: Path) -> None:
    folder: Any = tmp_path / "x`<img src=x>`\u202e"
    folder.mkdir()
    assert base_label(str(folder), tmp_path) == "x'<img src=x>'\ufffd"
