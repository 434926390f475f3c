"""Accuracies with their uncertainty over items and over draws of few-shot demonstrations.

Items and demonstrations are both random samples. The variance of a mean over draws × items is the
variance between draws (estimated from their means over items, so it includes the noise of single
answers) plus the variance between items (estimated from their means over draws, minus that noise).
1 / degrees of freedom is the mean of 1 / (draws - 1) and 1 / (items - 1), weighted by the shares of
the variance. Satterthwaite's weights, the squares of the shares, have a higher error rate with few
draws: when draws agree by chance, they give the draws too little weight.

Items of one group (questions on one passage, hypotheses on one premise) are not independent: the
sums of the groups' deviations from the mean take the items' place, as in cluster-robust standard
errors. Unequal groups count as (Σ size)² / Σ size² of equal size in the degrees of freedom
(Carter, Schnepel and Steigerwald 2017).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan, sqrt
from statistics import NormalDist

import numpy as np

from tongues.core.estimate import LEVEL, Estimate
from tongues.core.significance.student import critical, two_sided

# Win rates over languages, and the accuracy of random guesses.

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


_STUDENT = "Student's t over items and draws"
FEWEST_ITEMS = 10  # chosen; with fewer answers of 0 and 1, a mean is far from normal
FEWEST_DRAWS = 3  # the variance of two draws, by one degree of freedom, is too uncertain
_TINY = 1e-300  # keeps 0 / 0 at 0
_ROUNDING = 1e-12  # of an accuracy: far below one answer of any task
_FARTHEST = 2.0**20  # chosen; the largest relative score to search
POWER = 0.8  # the usual power; a difference that can be detected is so often significant
# Correlation of two models' answers: between 0.3 and 0.7 in Miller 2024 (arXiv:2411.00640).
_SHARED = 0.5

Correct = np.ndarray | Sequence[np.ndarray]  # (draws, items), or one of each language
Groups = Sequence[str] | np.ndarray | Sequence[Sequence[str]]  # of the items, or of each language's


def paired_accuracy(
    own: Correct,
    other: Correct,
    groups: Groups | None = None,
    *,
    unit: float | None = 1.0,
    items: str = "items",
) -> Estimate:
    """Own accuracy minus the other's, on the same items with the same draws of demonstrations.

    own, other: whether each item was answered correctly (1 or 0), (draws, items), with one draw
    where there are no demonstrations; or a list by language, with the same draws, for the mean over
    languages. Items that are translations of each other are not independent: pass their mean.
    groups: the group of each item; None: all are independent. unit: what one answer can change; 1
    of an accuracy, None of a metric without one. items: the plural of what counts as one item, for
    `reason` where there are too few.
    """
    gaps = [a - b for a, b in zip(_languages(own), _languages(other), strict=True)]
    return _tested(gaps, _places(gaps, groups), unit, items)


def measured_mean(
    values: Correct,
    groups: Groups | None = None,
    *,
    unit: float | None = None,
    items: str = "items",
) -> Estimate:
    """The mean of a metric that is not an accuracy, with Student's interval.

    groups, unit, items: as of `paired_accuracy`.
    """
    parts = _languages(values)
    return replace(_tested(parts, _places(parts, groups), unit, items), p=None)


def measured_accuracy(
    correct: Correct, groups: Groups | None = None, *, items: str = "items"
) -> Estimate:
    """The accuracy with its 95 % interval (Wilson's, of the effective number of items).

    groups, items: as of `paired_accuracy`.
    """
    parts = _languages(correct)
    places = _places(parts, groups)
    too_few = _too_few(parts, places, items)
    if too_few:
        return Estimate(_mean(parts), reason=too_few)
    mean, error, freedom = (float(of) for of in spread(parts, places))
    count = sum(place.max() + 1 for place in places)
    worth = mean * (1 - mean) / error**2 if 0 < mean < 1 else count
    low, high = wilson(mean, min(worth, sum(part.size for part in parts)), critical(freedom))
    return Estimate(mean, low, high, method=WILSON)


def relative_score(
    own: Correct,
    baseline: Correct,
    chance: float = 0.0,
    groups: Groups | None = None,
) -> Estimate:
    """(accuracy - chance) / (the baseline's - chance), with its 95 % interval.

    The interval contains the ratios r for which the score is not significantly different from
    r × the baseline's. There is none where the baseline is not significantly above chance, and the
    ratio is NaN where it is at chance exactly. groups: as of `paired_accuracy`.
    """
    upper, lower = ([part - chance for part in _languages(of)] for of in (own, baseline))
    above, below = _mean(upper), _mean(lower)
    ratio = above / below if abs(below) > _ROUNDING else nan
    places = _places(upper, groups)

    def chance_of(gaps: Sequence[np.ndarray]) -> float:
        mean, error, freedom = (float(of) for of in spread(gaps, places))
        return two_sided(mean / error, freedom)

    too_few = _too_few(upper, places, "items")
    if not too_few and (below <= _ROUNDING or chance_of(lower) > LEVEL):
        too_few = "the baseline is not significantly above chance"
    if too_few:
        return Estimate(ratio, reason=too_few)

    def inside_interval(score: float) -> bool:
        return chance_of([a - score * b for a, b in zip(upper, lower, strict=True)]) > LEVEL

    ends = []
    for side in (-1.0, 1.0):
        inside, step = ratio, 0.01
        while inside_interval(ratio + side * step):
            inside, step = ratio + side * step, 2.0 * step
            if step > _FARTHEST:
                return Estimate(ratio, reason="the baseline is too near to chance")
        outside = ratio + side * step
        for _ in range(40):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if inside_interval(middle) else (inside, middle)
        ends.append(inside)
    return Estimate(ratio, ends[0], ends[1], method=_STUDENT)


def detectable(difference: Estimate) -> float | None:
    """The smallest difference that such a comparison finds significant with `POWER`."""
    if difference.low is None or difference.high is None:
        return None
    normal = NormalDist()
    more = 1.0 + normal.inv_cdf(POWER) / normal.inv_cdf(1 - LEVEL / 2)
    return more * (difference.high - difference.low) / 2


def detectable_before(choices: Sequence[int], groups: Sequence[str]) -> tuple[float, float]:
    """The smallest accuracy difference that one draw of items can detect, before any is scored.

    For two models near chance whose answers correlate by 0.5: if the items of a group are
    independent, and if they are always answered alike. choices: of each item.
    """
    right = 1.0 / np.asarray(choices, dtype=float)
    _, place = np.unique(np.asarray(groups), return_inverse=True)
    variance = 2.0 * (1.0 - _SHARED) * right * (1.0 - right)
    alike = (np.bincount(place, np.sqrt(variance)) ** 2).sum()
    reach = NormalDist().inv_cdf(1 - LEVEL / 2) + NormalDist().inv_cdf(POWER)
    low, high = (reach * sqrt(float(of)) / len(right) for of in (variance.sum(), alike))
    return low, high


def spread(
    parts: Sequence[np.ndarray],
    places: Sequence[np.ndarray] | None = None,
    unit: float | None = 1.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean over languages, its standard error, and the degrees of freedom of that.

    parts: values (..., draws, items) of each language, with the same draws. places: the number of
    each item's group, by language. The standard error is at least unit / (draws × groups): equal
    answers do not prove that further answers are equal. A metric without a unit has no such floor.
    """
    languages, draws = len(parts), parts[0].shape[-2]
    of_draw = np.mean([part.mean(-1) for part in parts], axis=0)  # (..., draws)
    by_items, uncertain, least = (np.zeros(of_draw.shape[:-1]) for _ in range(3))
    fewest = float("inf")  # degrees of freedom where no item differs
    for number, part in enumerate(parts):
        units, free = (
            (part, part.shape[-1] - 1.0) if places is None else _grouped(part, places[number])
        )
        count, fewest = units.shape[-1], min(fewest, free)
        of_item = units.mean(-2)
        variance = of_item.var(-1, ddof=1) / count
        if draws > 1:
            rest = units - units.mean(-1, keepdims=True) - of_item[..., None, :]
            rest += units.mean((-2, -1), keepdims=True)
            noise = (rest**2).sum((-2, -1)) / ((draws - 1) * (count - 1) * draws * count)
            variance = np.maximum(variance - noise, 0.0)
        by_items += variance / languages**2
        uncertain += (variance / languages**2) ** 2 / free
        least += ((unit or 0.0) / (draws * count) / languages) ** 2
    if draws == 1:
        by_draws, share = np.zeros_like(by_items), 0.0
    else:
        by_draws = of_draw.var(-1, ddof=1) / draws
        share = np.where(by_items > 0, by_draws / (by_draws + by_items + _TINY), by_draws > 0)
    items_free = np.where(by_items > 0, uncertain / (by_items**2 + _TINY), 1.0 / fewest)
    free = 1.0 / (share / max(draws - 1, 1) + (1 - share) * items_free)
    both = by_items + by_draws
    return of_draw.mean(-1), np.sqrt(np.maximum(both, least)), free


def _grouped(part: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, float]:
    """A value for each group, with the means of the draws kept, and the degrees of freedom."""
    sizes = np.bincount(place)
    if len(sizes) == len(place):
        return part, len(place) - 1.0
    mean = part.mean((-2, -1), keepdims=True)
    sums = np.add.reduceat(
        (part - mean)[..., np.argsort(place, kind="stable")],
        np.concatenate([[0], np.cumsum(sizes)[:-1]]),
        axis=-1,
    )
    free = len(place) ** 2 / float((sizes**2).sum()) - 1.0
    return mean + sums * len(sizes) / len(place), max(free, 1.0)


def _tested(
    gaps: Sequence[np.ndarray], places: Sequence[np.ndarray], unit: float | None, items: str
) -> Estimate:
    if too_few := _too_few(gaps, places, items):
        return Estimate(_mean(gaps), reason=too_few)
    mean, error, freedom = (float(of) for of in spread(gaps, places, unit))
    half = critical(freedom) * error
    p = two_sided(mean / error, freedom) if error else float(mean == 0.0)
    return Estimate(mean, mean - half, mean + half, method=_STUDENT, p=p)


def _mean(parts: Sequence[np.ndarray]) -> float:
    return float(np.mean([part.mean() for part in parts]))


def _languages(correct: Correct) -> list[np.ndarray]:
    parts = [correct] if isinstance(correct, np.ndarray) else list(correct)
    parts = [np.asarray(part, dtype=float) for part in parts]
    assert all(part.ndim == 2 and part.size and len(part) == len(parts[0]) for part in parts)
    return parts


def _places(parts: Sequence[np.ndarray], groups: Groups | None) -> list[np.ndarray]:
    """The number of each item's group, by language."""
    if groups is None:
        return [np.arange(part.shape[1]) for part in parts]
    each = [groups] if np.ndim(groups[0]) == 0 else groups
    places = [np.unique(np.asarray(of), return_inverse=True)[1] for of in each]
    assert all(len(of) == part.shape[1] for of, part in zip(places, parts, strict=True))
    return places


def _too_few(parts: Sequence[np.ndarray], places: Sequence[np.ndarray], counted: str) -> str:
    draws, items = len(parts[0]), min(int(place.max()) + 1 for place in places)
    if any(place.max() + 1 < len(place) for place in places):
        counted = f"groups of {counted}"
    if items < FEWEST_ITEMS:
        each, of = (" of each language", " of one") if len(parts) > 1 else ("", "")
        return f"{FEWEST_ITEMS} {counted}{each} are needed, there are {items}{of}"
    if 1 < draws < FEWEST_DRAWS:
        return f"{FEWEST_DRAWS} draws are needed, there are {draws}"
    return ""
