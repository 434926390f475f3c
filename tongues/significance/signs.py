"""In how many languages a setting wins, ties told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from tongues.significance.shares import wilson
from tongues.significance.student import LEVEL, critical

__all__ = ["Signs", "WinRate", "fewest_languages", "fewest_wins", "sign_test", "signs", "win_rates"]

_EQUAL = 1e-9  # scores nearer than this are a tie: a sum's order moves the last digits


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

    rate: the share of languages of both together, with its 95 % interval (Wilson's).
    """

    alone: int
    shared: int
    languages: int
    rate: float
    low: float
    high: float


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
        found[setting] = WinRate(alone, int(level.sum()), languages, rate, low, high)
    return found
