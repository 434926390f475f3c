"""What can be told apart: paired comparisons, single values with intervals, and their words."""

from tongues.significance.draws import measured_accuracy, paired_accuracy, relative_score
from tongues.significance.holm import holm
from tongues.significance.paired import measured_loss, paired_loss, paired_mean
from tongues.significance.signs import Chance, Signs, WinRate, chance, sign_test, signs, win_rates
from tongues.significance.words import (
    about_signs,
    in_words,
    measured_in_words,
    signs_in_words,
)

__all__ = [
    "Chance",
    "Signs",
    "WinRate",
    "about_signs",
    "chance",
    "holm",
    "in_words",
    "measured_accuracy",
    "measured_in_words",
    "measured_loss",
    "paired_accuracy",
    "paired_loss",
    "paired_mean",
    "relative_score",
    "sign_test",
    "signs",
    "signs_in_words",
    "win_rates",
]
