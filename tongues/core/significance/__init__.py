"""What differs significantly: paired comparisons, and single values with intervals."""

from tongues.core.significance.draws import (
    POWER,
    Chance,
    WinRate,
    chance,
    detectable,
    detectable_before,
    measured_accuracy,
    measured_mean,
    paired_accuracy,
    relative_score,
    win_rates,
)
from tongues.core.significance.paired import holm, measured_loss, paired_loss, paired_mean

__all__ = ["POWER", "Chance", "WinRate", "chance", "detectable", "detectable_before"]
__all__ += ["holm", "measured_accuracy", "measured_loss", "measured_mean", "paired_accuracy"]
__all__ += ["paired_loss", "paired_mean", "relative_score", "win_rates"]
