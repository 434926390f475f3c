"""Win rates over languages, and the accuracy of random guesses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

WILSON = "Wilson's interval"

_EQUAL = 1e-9  # scores closer than this are a tie: the order of a sum changes the last digits


@dataclass(frozen=True, slots=True)
class Chance:
    """The expected accuracy of random guesses, and its standard error on these items."""

    level: float
    error: float


def chance(choices: Sequence[int] | np.ndarray, groups: Sequence[str] | None = None) -> Chance:
    """The accuracy of random guesses, as if the items of a group were guessed alike.

    choices: of each item; groups: of each item; None: all are independent.
    """
    right = 1.0 / np.asarray(choices, dtype=float)
    place = np.arange(len(right))
    if groups is not None:
        _, place = np.unique(np.asarray(groups), return_inverse=True)
    alike = np.bincount(place, np.sqrt(right * (1 - right)))
    return Chance(float(right.mean()), float(np.sqrt((alike**2).sum()) / len(right)))


@dataclass(frozen=True, slots=True)
class WinRate:
    """The number of languages in which a setting alone is best, and shares the first place."""

    alone: int
    shared: int
    languages: int


def win_rates(
    scores: Mapping[str, Sequence[float]], *, lower_wins: bool = False
) -> dict[str, WinRate]:
    """The win rate of each setting; scores: of each setting, language by language."""
    table = np.array(list(scores.values()), dtype=float)
    table = -table if lower_wins else table
    best = table >= table.max(axis=0) - _EQUAL
    shared = best & (best.sum(axis=0) > 1)
    return {
        setting: WinRate(int((won & ~level).sum()), int(level.sum()), table.shape[1])
        for setting, won, level in zip(scores, best, shared, strict=True)
    }


def wilson(share: float, count: float, reach: float) -> tuple[float, float]:
    """Wilson's interval of a share of `count`; reach: its half-width in standard errors."""
    square = reach**2 / count
    middle = (share + square / 2) / (1 + square)
    half = reach * sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)
