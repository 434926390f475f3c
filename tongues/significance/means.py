"""Means over runs and slopes, with the 95 % intervals that their spread allows."""

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean, linear_regression

from tongues.estimate import Estimate
from tongues.significance.student import critical

__all__ = ["Unit", "over_sizes", "slope"]

Unit = tuple[str, int]  # shape and seed

_METHOD = "Student's t"
_FEWEST_FREE = 2  # degrees of freedom among seeds of a size, for their spread to be known


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


def slope(points: Sequence[tuple[float, float]]) -> Estimate | None:
    """The slope of the regression line through points (x, y), or None where all have one x.

    With its 95 % interval from three points on.
    """
    x, y = [point[0] for point in points], [point[1] for point in points]
    if len(set(x)) < 2:
        return None
    line = linear_regression(x, y)
    if len(points) < 3:
        return Estimate(line.slope, n=len(points))
    freedom, middle = len(points) - 2, fmean(x)
    off = sum((b - line.slope * a - line.intercept) ** 2 for a, b in points)
    half = critical(freedom) * sqrt(off / freedom / sum((a - middle) ** 2 for a in x))
    low, high = line.slope - half, line.slope + half
    return Estimate(line.slope, low, high, n=len(points), method=_METHOD)
