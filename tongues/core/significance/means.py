"""Means over runs, with the 95 % intervals that their spread allows."""

from collections.abc import Iterable
from math import sqrt
from statistics import fmean

from tongues.core.estimate import Estimate
from tongues.core.significance.student import critical

Unit = tuple[str, int]  # shape and seed

_METHOD = "Student's t"
_FEWEST_FREE = 2  # chosen; degrees of freedom among seeds of a size: one gives t = 12.7


def over_sizes(values: Iterable[tuple[Unit, float]]) -> Estimate | None:
    """The mean over sizes, with its 95 % interval, or None when there is no value.

    Values of one unit, a shape and a seed, count as one. Sizes are taken as fixed: only the spread
    among seeds of a size is an error. Where too few sizes have several seeds, the spread among all
    units is used instead, which makes the interval rather too wide.
    """
    units: dict[Unit, list[float]] = {}
    for unit, value in values:
        units.setdefault(unit, []).append(value)
    sizes: dict[str, list[float]] = {}
    for (shape, _), of_unit in units.items():
        sizes.setdefault(shape, []).append(fmean(of_unit))
    if not sizes:
        return None
    mean, count = fmean(map(fmean, sizes.values())), len(units)
    if count == 1:
        return Estimate(mean, n=1)
    groups, freedom = list(sizes.values()), count - len(sizes)
    if freedom < _FEWEST_FREE:
        groups, freedom = [[value for size in groups for value in size]], count - 1
    variance = sum((value - fmean(group)) ** 2 for group in groups for value in group) / freedom
    error = sqrt(variance * sum(1.0 / len(size) for size in sizes.values())) / len(sizes)
    half = critical(freedom) * error
    return Estimate(mean, mean - half, mean + half, n=count, method=_METHOD)
