import re
from importlib.resources import files
from pathlib import Path

import pytest

from tests.report.pages import Page as Parsed
from tongues.core.errors import UserError
from tongues.core.estimate import Estimate
from tongues.core.pages.blocks import (
    Cell,
    Details,
    Figure,
    Items,
    Page,
    Paragraph,
    Quote,
    Section,
    Table,
    Terms,
)
from tongues.core.pages.theme import PALETTES
from tongues.core.pages.write import as_html, page_as_html, prose, write_page


def test_sentences_are_marked_and_nothing_in_them_is_markup() -> None:
    assert prose("`sw` <b>") == '<span class="lang">sw</span> &lt;b&gt;'
    assert prose("by -0.3 to 5 % in 2-3") == "by −0.3 to 5\u00a0% in 2-3"
    assert prose("[CPT]{.cpt} [here](#runs) A^{x}") == (
        '<span class="cpt">CPT</span> <a href="#runs">here</a> A<sup>x</sup>'
    )
    assert prose("[x](javascript:no) [a]{.b c}") == "[x](javascript:no) [a]{.b c}"


def test_a_page_is_light_and_asks_the_network_for_nothing(tmp_path: Path) -> None:
    html = page_as_html(Page("Light", [Paragraph("All of it is here.")]))
    assert len(html.encode()) < 1_000_000  # which leaves half a megabyte to figures and tables
    assert not [place for place in Parsed(html).loads if "//" in place]
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style and "@import" not in style


def test_every_page_has_the_colours_of_figures_in_light_and_dark() -> None:
    for style in (files("tongues.core.pages"), files("tongues.use.serve") / "page"):
        light, dark = (style / "page.css").read_text().split("prefers-color-scheme: dark", 1)
        for palette, part in (("light", light), ("dark", dark)):
            colours = [PALETTES[palette][name] for name in ("ink", "quiet", "line", "paper")]
            assert not {*colours, *PALETTES[palette]["series"]} - {
                *re.findall("#[0-9a-f]{6}", part)
            }


def test_a_long_name_does_not_widen_a_narrow_page() -> None:
    page = page_as_html(Page("a" * 300, [Paragraph("b" * 300)]))
    (rule,) = re.findall(r"^main \{([^}]*)\}", page, re.MULTILINE)
    assert "overflow-wrap: break-word" in rule


def test_cells_are_plain_text() -> None:
    cell = Cell("`a` <i>", below="[1, 2]", after="3", link="#b")
    row = [cell, Cell("`a`", strong=True), Cell("x", quiet=True, title='"'), 1234]
    html = as_html([Table(["one", "two", "three", "four"], [row])])
    assert (
        '<td class="word"><a href="#b">`a` &lt;i&gt;</a><small>[1, 2]</small>'
        '<small class="after">3</small></td>'
    ) in html
    assert '<td class="word"><strong>`a`</strong></td>' in html
    assert '<span class="quiet" title="&quot;">x</span>' in html
    assert html.endswith("<td>1,234</td></tr></table></div>")
    assert '<th class="word">three</th><th>four</th>' in html


@pytest.mark.parametrize(
    ("cells", "right"),
    [
        (("12", "-1", ""), True),
        (("", ""), False),
        (("12", "a"), False),
        ((Cell("not known"), Cell("0.1", Estimate(0.1))), True),
    ],
)
def test_columns_of_numbers_stand_to_the_right(cells: tuple[str | Cell, ...], right: bool) -> None:
    assert Table(["x"], [[cell] for cell in cells]).columns[0].numbers == right


def test_a_page_is_whole_with_its_figures_in_reading_order(tmp_path: Path) -> None:
    import altair as alt

    def figure(name: str) -> Figure:
        chart = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_circle().encode(x="x:Q")
        panel = alt.LayerChart(layer=[chart], title=name, width="container")
        return Figure(name, name.title(), "A point.", (panel,), ({"x": 1},))

    page = Page(
        "Title <here>",
        [
            Items(["One."]),
            figure("first"),
            Paragraph("Beware.", "doubt"),
            Section("runs", "Runs", [Details("More", [figure("second"), Quote("q", "sw")])]),
            Terms({"a": "b"}),
            figure("third"),
        ],
        lead=[Paragraph("Hello.", "lead")],
        versions={"altair": "6"},
        numbers={"answer": 42},
    )
    path = write_page(page, tmp_path / "page")
    html = path.read_text()
    read = Parsed(html)
    assert not read.open
    assert "Title <here>" in read.said
    places = [html.index(f'"title":"{name}"') for name in ("first", "second", "third")]
    assert places == sorted(places)
    assert html.count('<div class="panel">') == 3
    names = {file.name for file in (path.parent / "figures").iterdir()}
    assert names == {
        f"{n}.{k}" for n in ("first", "second", "third") for k in ("svg", "png", "csv")
    }
    assert '"answer": 42' in path.with_name("report.json").read_text()
    write_page(Page("Another", []), tmp_path / "page")
    assert "Another" in path.read_text()
    with pytest.raises(UserError, match="not empty"):
        (tmp_path / "report.json").unlink(missing_ok=True)
        write_page(page, tmp_path)
