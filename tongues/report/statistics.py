"""Means over pairs of runs, with the interval their spread allows."""

from collections.abc import Hashable, Iterable, Sequence
from math import sqrt
from statistics import fmean, linear_regression, stdev

from tongues.estimate import Estimate
from tongues.significance.student import critical

__all__ = ["Unit", "by_unit", "estimate", "over_sizes", "slope"]

Unit = tuple[str, int]  # shape and seed

_METHOD = "Student's t"
_FEWEST_FREE = 2  # degrees of freedom among seeds of a size, for their spread to be known


def estimate(values: Iterable[float]) -> Estimate | None:
    """The mean and its 95 % interval by Student's t, or None when there is no value."""
    values = list(values)
    if not values:
        return None
    mean, count = fmean(values), len(values)
    if count == 1:
        return Estimate(mean, n=1)
    half = critical(count - 1) * stdev(values) / sqrt(count)
    return Estimate(mean, mean - half, mean + half, n=count, method=_METHOD)


def over_sizes(values: Iterable[tuple[Unit, float]]) -> Estimate | None:
    """The mean over the sizes there are, with its 95 % interval, or None when there is no value.

    Values of one unit, a shape and a seed, count as one. Sizes are taken as they are: what differs
    from one to the next is no error of a mean over them, only the spread among seeds of a size is.
    Where too few sizes have several seeds, the spread among all units stands for that; it is
    rather too wide.
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
    """By how much y changes for one x, along the straight line through points (x, y).

    With the 95 % interval of a regression from three points on; None where all have one x.
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


def by_unit(values: Iterable[tuple[Hashable, float]]) -> list[float]:
    """One mean for each unit: values of one unit are not independent of each other."""
    found: dict[Hashable, list[float]] = {}
    for unit, value in values:
        found.setdefault(unit, []).append(value)
    return [fmean(of_unit) for of_unit in found.values()]
