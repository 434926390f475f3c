"""Searches for the lowest point of a function, and for where it first reaches a level."""

from collections.abc import Callable

import numpy as np

_GRID = 257
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
_CLOSER = 45  # each keeps 0.62 of the bracket: from a grid step to beyond what rounding shows
_HALVINGS = 60
_AT_END = 1e-6  # of the range: nearer to an end than this is at it

Function = Callable[[np.ndarray], np.ndarray]


def minimise(function: Function, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The x between `low` and `high` where `function` is lowest; NaN where that is at an end.

    Many searches at once: `low` and `high` have one axis, the function takes (searches, points).
    """
    grid = np.linspace(low, high, _GRID, axis=-1)
    best = np.argmin(function(grid), axis=-1)
    inside = np.clip(best, 1, _GRID - 2)[:, None]
    left, right = (np.take_along_axis(grid, inside + step, -1)[:, 0] for step in (-1, 1))
    for _ in range(_CLOSER):
        first, second = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
        at = function(np.stack([first, second], axis=-1))
        lower = at[:, 0] < at[:, 1]
        left, right = np.where(lower, left, first), np.where(lower, second, right)
    x = (left + right) / 2
    return np.where(np.minimum(x - low, high - x) < _AT_END * (high - low), np.nan, x)


def first_reached(function: Function, level: float, low: float, high: float) -> float:
    """The least x between `low` and `high` where `function` is at or below `level`; else inf.

    Exact where the function falls; between grid points it may miss a dip.
    """
    grid = np.linspace(low, high, _GRID)
    there = np.flatnonzero(function(grid) <= level)
    if not there.size:
        return np.inf
    if there[0] == 0:
        return float(low)
    left, right = grid[there[0] - 1], grid[there[0]]
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        reached = function(np.array([middle]))[0] <= level
        left, right = (left, middle) if reached else (middle, right)
    return float(right)


def reached_in_draws(values: np.ndarray, grid: np.ndarray, level: np.ndarray) -> np.ndarray:
    """For each draw the least x at which its curve is at or below its level; inf where it never is.

    values: each draw's curve on the grid, (draws, points).
    level: the level of each draw.
    """
    above = values - level[:, None]
    after = np.argmax(above <= 0, axis=1)
    draw = np.arange(len(values))
    before = np.maximum(after - 1, 0)
    rise = above[draw, before] - above[draw, after]
    share = np.where(rise > 0, above[draw, before] / np.where(rise > 0, rise, 1.0), 1.0)
    x = grid[before] + share * (grid[after] - grid[before])
    return np.where(above[draw, after] <= 0, x, np.inf)
