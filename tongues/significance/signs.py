"""Counts and shares: languages won, ties told, and what a guesser's share would be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, sqrt

import numpy as np

from tongues.estimate import LEVEL, Estimate
from tongues.significance.student import critical

__all__ = [
    "WILSON",
    "Chance",
    "Signs",
    "WinRate",
    "chance",
    "fewest_languages",
    "fewest_wins",
    "sign_test",
    "signs",
    "wilson",
    "win_rates",
]

WILSON = "Wilson's interval"

_EQUAL = 1e-9  # scores nearer than this are a tie: a sum's order moves the last digits


@dataclass(frozen=True, slots=True)
class Chance:
    """The accuracy of one who guesses, and the standard error of that on these items."""

    level: float
    error: float


def chance(choices: Sequence[int] | np.ndarray) -> Chance:
    """What guessing gives on items with so many choices each."""
    right = 1.0 / np.asarray(choices, dtype=float)
    return Chance(float(right.mean()), float(np.sqrt((right * (1 - right)).sum()) / len(right)))


@dataclass(frozen=True, slots=True)
class Signs:
    """In how many languages one is ahead of the other, behind it, or level.

    among: how many comparisons p allows for. translated: whether the languages say the same; then
    they share their luck, and their count tells nothing that the mean does not.
    """

    wins: int
    losses: int
    ties: int
    among: int = 1
    translated: bool = False

    @property
    def p(self) -> float | None:
        """The chance of a count so uneven by luck; ties say nothing and are left out."""
        if self.translated:
            return None
        return min(1.0, self.among * sign_test(self.wins, self.losses))


@dataclass(frozen=True, slots=True)
class WinRate:
    """In how many languages a setting is best alone, and shares the best place.

    rate: the share of languages of both together (Wilson's interval).
    """

    alone: int
    shared: int
    languages: int
    rate: Estimate


def signs(own: Sequence[float], other: Sequence[float], *, lower_wins: bool = False) -> Signs:
    """Count the languages won, lost and level; lower_wins: for losses."""
    gaps = np.asarray(own, dtype=float) - np.asarray(other, dtype=float)
    gaps = -gaps if lower_wins else gaps
    wins, losses = int((gaps > _EQUAL).sum()), int((gaps < -_EQUAL).sum())
    return Signs(wins, losses, len(gaps) - wins - losses)


def sign_test(wins: int, losses: int) -> float:
    """The two-sided p-value of the exact sign test."""
    count = wins + losses
    tail = sum(comb(count, k) for k in range(max(wins, losses), count + 1))
    return min(1.0, 2 * tail / 2**count)


def fewest_wins(count: int, among: int = 1) -> int | None:
    """The wins of `count` languages, without ties, that luck does not give; None where none do.

    among: how many such counts are looked at.
    """
    enough = (wins for wins in range(count + 1) if 2 * wins > count)
    told = (wins for wins in enough if among * sign_test(wins, count - wins) <= LEVEL)
    return next(told, None)


def fewest_languages(among: int = 1) -> int:
    """The languages of which any count could tell; among: how many such counts are looked at."""
    count = 1
    while fewest_wins(count, among) is None:
        count += 1
    return count


def win_rates(
    scores: Mapping[str, Sequence[float]], *, lower_wins: bool = False
) -> dict[str, WinRate]:
    """The win rate of each setting; scores: of each setting, language by language."""
    table = np.array(list(scores.values()), dtype=float)
    table = -table if lower_wins else table
    best = table >= table.max(axis=0) - _EQUAL
    shared = best & (best.sum(axis=0) > 1)
    languages = table.shape[1]
    found = {}
    for setting, won, level in zip(scores, best, shared, strict=True):
        rate = float(won.mean())
        low, high = wilson(rate, languages, critical(float("inf")))
        alone = int((won & ~level).sum())
        found[setting] = WinRate(
            alone,
            int(level.sum()),
            languages,
            Estimate(rate, low, high, n=languages, method=WILSON),
        )
    return found


def wilson(share: float, count: float, reach: float) -> tuple[float, float]:
    """Wilson's interval of a share of `count`; reach: how many standard errors it goes."""
    square = reach**2 / count
    middle = (share + square / 2) / (1 + square)
    half = reach * sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)
