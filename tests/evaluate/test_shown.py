"""What is told apart, in the terminal's words."""

import re

from tests.report.evaluation.scored import PLAIN, SCRATCH, SOURCE, outcome
from tongues.evaluate.shown import accuracy_rows, comparison_lines, loss_rows
from tongues.report.evaluation.tables import accuracy_table, loss_table


def test_each_pair_and_each_reason_is_said_once() -> None:
    lines = list(comparison_lines(outcome((SOURCE, SCRATCH, PLAIN), aligned=True)))
    heads = [line for line in lines if " beside " in line]
    assert heads == [
        f"study: {SCRATCH} beside {SOURCE}",
        f"study: {PLAIN} beside {SOURCE} (its seed)",
        f"xnli: {SCRATCH} beside {SOURCE}",
        f"xnli: {PLAIN} beside {SOURCE}",
    ]
    assert lines.count("  ahead in 2 of 3 languages") == 1  # translations: no verdict
    assert lines[-2:] == [
        "the languages say the same: in how many a model is ahead tells no more than the mean",
        "a count of languages tells something from 7 languages on",
    ]


def test_the_terminal_and_the_page_write_numbers_alike() -> None:
    found = outcome((SOURCE, PLAIN))
    in_text = loss_rows(found.texts["study"])[0][SOURCE]
    of_task = accuracy_rows(found.tasks["xnli"])[0]["chance"]
    assert in_text.split()[0] in loss_table(found, "study")
    page = re.sub(r"<[^>]+>", " ", accuracy_table(found, "xnli"))
    assert of_task.replace(" %", "") in " ".join(page.split())
