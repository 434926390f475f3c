"""Shares of a count, and what a guesser's share would be."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

__all__ = ["Chance", "chance", "wilson"]


@dataclass(frozen=True, slots=True)
class Chance:
    """The accuracy of one who guesses, and the standard error of that on these items."""

    level: float
    error: float


def chance(choices: Sequence[int] | np.ndarray) -> Chance:
    """What guessing gives on items with so many choices each."""
    right = 1.0 / np.asarray(choices, dtype=float)
    return Chance(float(right.mean()), float(np.sqrt((right * (1 - right)).sum()) / len(right)))


def wilson(share: float, count: float, reach: float) -> tuple[float, float]:
    """Wilson's interval of a share of `count`; reach: how many standard errors it goes."""
    square = reach**2 / count
    middle = (share + square / 2) / (1 + square)
    half = reach * sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)
