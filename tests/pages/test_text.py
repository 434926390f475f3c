from math import nan

import pytest

from tests.golden import golden
from tongues.core.estimate import Estimate
from tongues.core.pages import (
    as_markdown,
    as_text,
    compact,
    estimate_cell,
    fixed,
    interval,
    minus,
    number,
    percent,
    short,
    signed,
    too_few,
)
from tongues.core.pages.blocks import (
    Cell,
    Details,
    Figure,
    Heading,
    Items,
    Paragraph,
    Quote,
    Section,
    Table,
    Terms,
)

LOSS = Estimate(0.1234, 0.1, 0.15)
TABLE = Table(
    ["language", "loss", "documents"],
    [[Cell("sw|x", strong=True), estimate_cell(LOSS, fixed(2)), 1200], ["he", "not known", None]],
)
BLOCKS = (
    Paragraph("[CPT]{.cpt} of `sw`, see [below](#losses), N^{α}.", "lead"),
    Items(["One.", "**Two** of `sw`."]),
    Section("losses", "Losses", [TABLE, Details("All", [Quote("a\nb", "sw")])]),
    Heading("Method"),
    Terms({"batch": "1M"}),
    Figure("loss", "Loss", "Lower is better.", (), ()),
)


def test_a_table_of_texts_has_numbers_to_the_right_and_cells_that_stay_cells() -> None:
    rows = [{"name": "a|b", "value": "-1.5"}, {"name": "c", "value": ""}]
    assert as_markdown([Table.of(rows)]).split("\n") == [
        "| name | value |",
        "| --- | ---: |",
        r"| a\|b | -1.5 |",
        "| c |  |",
    ]
    assert as_markdown([Table.of([])]) == ""


def test_markdown_and_a_terminal_have_every_block_without_the_marks_they_do_not_know() -> None:
    golden("pages/blocks as Markdown", as_markdown(BLOCKS))
    golden("pages/blocks in a terminal", as_text(BLOCKS))


def test_a_quote_keeps_its_lines_and_indents_and_ends_where_it_ends() -> None:
    recipe = "text:\n  files: {}\n"
    assert as_markdown([Quote(recipe)]) == "```\ntext:\n  files: {}\n```"
    assert as_text([Quote(recipe)]) == "text:\n  files: {}"
    assert as_markdown([Quote("a\n````\n# b")]) == "`````\na\n````\n# b\n`````"


UP, DOWN = Estimate(0.4321, 0.3, 0.5), Estimate(-0.0004, -0.2, 0.1, reason="")


@pytest.mark.parametrize(
    ("text", "set_right"),
    [("-0.00", "0.00"), ("-1.5", "−1.5"), ("-0 %", "0 %"), ("1e-05", "1e−05")],
)
def test_one_true_minus_and_none_before_zero(text: str, set_right: str) -> None:
    assert minus(text) == set_right


def test_a_number_stands_with_its_interval() -> None:
    assert number(UP.times(100), fixed(0)) == "43 [30, 50]"
    assert number(DOWN, fixed(2)) == "0.00 [−0.20, 0.10]"
    assert number(Estimate(12345.6), fixed(1)) == "12,345.6"
    assert number(-UP, fixed(1)) == "−0.4 [−0.5, −0.3]"
    assert number(Estimate(nan), fixed(1)) == "not known"
    assert interval(Estimate(1.0), fixed(1)) == ""
    assert [signed(x, fixed(1)) for x in (0.3, -0.3, 0.01)] == ["+0.3", "−0.3", "0.0"]


def test_cells_hold_the_number_and_why_there_is_no_interval() -> None:
    cell = estimate_cell(UP, fixed(2), plus=True)
    assert (cell.text, cell.below, cell.value) == ("+0.43", "[0.30, 0.50]", UP)
    reasons = [f"6 documents are needed, there are {count}" for count in (3, 4)]
    few = [Estimate(0.1, reason=reason) for reason in reasons]
    alone = estimate_cell(few[0], fixed(1), after=True)
    assert (alone.text, alone.below, alone.after) == ("0.1", "", "too few")
    assert too_few([UP, *few]) == "Not tested, or `too few` in tables: 6 documents are needed."
    assert too_few([UP]) == ""
    unknown = estimate_cell(Estimate(nan, reason="not measured"), fixed(1))
    assert (unknown.text, unknown.below) == ("not known", "not measured")
    assert estimate_cell(None, fixed(1)).text == ""


def test_shares_and_large_numbers() -> None:
    assert [percent(x) for x in (0.0, 0.0001, 0.123, 0.9999)] == [
        "0.0 %",
        "< 0.1 %",
        "12.3 %",
        "100 %",
    ]
    assert compact(2.04e12) == "2e12" and compact(1.234e-7, 3) == "1.23e-7"
    assert [short(x, 3) for x in (0.4567, 456.7, 12345.0)] == ["0.457", "457", "1.23e4"]
