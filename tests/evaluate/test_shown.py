"""What is told apart, in the terminal's words."""

from tests.report.evaluation.scored import PLAIN, SCRATCH, SOURCE, outcome
from tongues.evaluate.shown import comparison_lines


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
