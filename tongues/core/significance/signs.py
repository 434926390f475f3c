"""Sign tests and win rates over languages, and the accuracy of random guesses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, sqrt

import numpy as np

from tongues.core.estimate import LEVEL, Estimate
from tongues.core.significance.student import critical

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
class Signs:
    """The number of languages in which one model is better than another, worse, or equal.

    among: the number of comparisons that p is corrected for. translated: whether the items are
    translations of each other; then the languages are not independent, and there is no p.
    """

    wins: int
    losses: int
    ties: int
    among: int = 1
    translated: bool = False

    @property
    def p(self) -> float | None:
        """The p-value of the sign test, without ties, Bonferroni-corrected."""
        if self.translated:
            return None
        return min(1.0, self.among * sign_test(self.wins, self.losses))


@dataclass(frozen=True, slots=True)
class WinRate:
    """The number of languages in which a setting alone is best, and shares the first place.

    rate: the share of languages in which it is best, alone or not (Wilson's interval).
    """

    alone: int
    shared: int
    languages: int
    rate: Estimate


def signs(own: Sequence[float], other: Sequence[float], *, lower_wins: bool = False) -> Signs:
    """Count the languages won, lost and tied; lower_wins: for losses."""
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
    """The wins of `count` languages, without ties, from which p is significant; None: no number.

    among: the number of comparisons to correct for.
    """
    enough = (wins for wins in range(count + 1) if 2 * wins > count)
    significant = (wins for wins in enough if among * sign_test(wins, count - wins) <= LEVEL)
    return next(significant, None)


def fewest_languages(among: int = 1) -> int:
    """The languages that a significant sign test needs; among: as of `fewest_wins`."""
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
    rates = {}
    for setting, won, level in zip(scores, best, shared, strict=True):
        rate = float(won.mean())
        low, high = wilson(rate, languages, critical(float("inf")))
        alone = int((won & ~level).sum())
        rates[setting] = WinRate(
            alone,
            int(level.sum()),
            languages,
            Estimate(rate, low, high, n=languages, method=WILSON),
        )
    return rates


def wilson(share: float, count: float, reach: float) -> tuple[float, float]:
    """Wilson's interval of a share of `count`; reach: its half-width in standard errors."""
    square = reach**2 / count
    middle = (share + square / 2) / (1 + square)
    half = reach * sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)
