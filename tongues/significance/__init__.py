"""What differs significantly: paired comparisons, and single values with intervals."""

from tongues.significance.draws import measured_accuracy, paired_accuracy, relative_score
from tongues.significance.paired import holm, measured_loss, paired_loss, paired_mean
from tongues.significance.signs import Chance, Signs, WinRate, chance, sign_test, signs, win_rates

__all__ = [
    "Chance",
    "Signs",
    "WinRate",
    "chance",
    "holm",
    "measured_accuracy",
    "measured_loss",
    "paired_accuracy",
    "paired_loss",
    "paired_mean",
    "relative_score",
    "sign_test",
    "signs",
    "win_rates",
]
