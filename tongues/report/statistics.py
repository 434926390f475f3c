"""Means over pairs of runs, with the interval their spread allows."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

__all__ = ["Estimate", "estimate"]

# the 97.5 % point of Student's t for 1, 2, 3 ... degrees of freedom
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179)
_STUDENT += (2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over `pairs` values; one value alone has no interval."""

    mean: float
    low: float | None
    high: float | None
    pairs: int

    @property
    def sign(self) -> int:
        """1 or -1 when the 95 % interval lies on one side of nothing, else 0."""
        if self.low is None or self.high is None:
            return 0
        return (self.low > 0) - (self.high < 0)


def estimate(values: Iterable[float]) -> Estimate | None:
    """The mean and its 95 % interval by Student's t, or None when there is no value."""
    values = list(values)
    if not values:
        return None
    mean, count = fmean(values), len(values)
    if count == 1:
        return Estimate(mean, None, None, 1)
    freedom = count - 1
    student = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else 1.960 + 2.5 / freedom
    half = student * stdev(values) / sqrt(count)
    return Estimate(mean, mean - half, mean + half, count)
