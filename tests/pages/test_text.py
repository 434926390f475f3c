import json

from tests.golden import golden
from tongues.estimate import Estimate
from tongues.pages import (
    Callout,
    Card,
    Cards,
    Cell,
    Details,
    Figure,
    Heading,
    Items,
    Page,
    Paragraph,
    Quote,
    Section,
    Table,
    Terms,
    Topics,
    as_json,
    as_markdown,
    as_text,
    estimate_cell,
    fixed,
)

LOSS = Estimate(0.1234, 0.1, 0.15)
TABLE = Table(
    ["language", "loss", "documents"],
    [[Cell("sw|x", strong=True), estimate_cell(LOSS, fixed(2)), 1200], ["he", "not known", None]],
)
BLOCKS = (
    Paragraph("[CPT]{.cpt} of `sw`, see [below](#losses), N^{α}.", "lead"),
    Cards([Card("43 %", "[38, 47]", "saved on `sw`")]),
    Topics({"Saved": [Items(["One.", "Two."])]}),
    Section("losses", "Losses", [TABLE, Details("All", [Quote("a\nb", "sw")])]),
    Heading("Method"),
    Callout("To doubt", ["**Few** runs."]),
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


def test_programs_get_the_numbers_behind_the_cells() -> None:
    page = Page("Losses", BLOCKS, versions={"altair": "6"}, numbers={"sentences": ["One."]})
    plain = json.loads(json.dumps(as_json(page)))
    assert plain["title"] == "Losses" and plain["sentences"] == ["One."]
    (section,) = (block for block in plain["blocks"] if block["kind"] == "section")
    rows = section["blocks"][0]["rows"]
    assert rows[0]["loss"] == LOSS.to_json()
    assert rows[0]["documents"] == 1200
    assert rows[1] == {"language": "he", "loss": "not known", "documents": ""}
