"""What can be told apart: paired comparisons, single values with intervals, and their words."""

from tongues.evaluate.significance.difference import Difference, Measured
from tongues.evaluate.significance.draws import measured_accuracy, paired_accuracy, relative_score
from tongues.evaluate.significance.holm import holm
from tongues.evaluate.significance.paired import (
    measured_loss,
    paired_loss,
)
from tongues.evaluate.significance.shares import Chance, chance
from tongues.evaluate.significance.signs import Signs, WinRate, sign_test, signs, win_rates
from tongues.evaluate.significance.words import (
    in_words,
    measured_in_words,
    signs_in_words,
)

__all__ = [
    "Chance",
    "Difference",
    "Measured",
    "Signs",
    "WinRate",
    "chance",
    "holm",
    "in_words",
    "measured_accuracy",
    "measured_in_words",
    "measured_loss",
    "paired_accuracy",
    "paired_loss",
    "relative_score",
    "sign_test",
    "signs",
    "signs_in_words",
    "win_rates",
]
