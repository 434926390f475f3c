"""Accuracies with their uncertainty over items and over draws of few-shot demonstrations.

Items and demonstrations are both random samples. The variance of a mean over draws × items is the
variance between draws (estimated from their means over items, so it includes the noise of single
answers) plus the variance between items (estimated from their means over draws, minus that noise).
1 / degrees of freedom is the mean of 1 / (draws - 1) and 1 / (items - 1), weighted by the shares of
the variance. Satterthwaite's weights, the squares of the shares, have a higher error rate with few
draws: when draws agree by chance, they give the draws too little weight.
"""

from collections.abc import Sequence
from math import nan

import numpy as np

from tongues.estimate import LEVEL, Estimate
from tongues.significance.signs import WILSON, wilson
from tongues.significance.student import critical, two_sided

__all__ = [
    "FEWEST_DRAWS",
    "FEWEST_ITEMS",
    "measured_accuracy",
    "paired_accuracy",
    "relative_score",
    "spread",
]

_STUDENT = "Student's t over items and draws"
FEWEST_ITEMS = 10
FEWEST_DRAWS = 3  # the variance of two draws is underestimated too often
_TINY = 1e-300  # keeps 0 / 0 at 0
_ROUNDING = 1e-12  # of an accuracy
_FARTHEST = 2.0**20  # the largest relative score to search

Correct = np.ndarray | Sequence[np.ndarray]  # (draws, items), or one of each language


def paired_accuracy(own: Correct, other: Correct, *, items: str = "items") -> Estimate:
    """Own accuracy minus the other's, on the same items with the same draws of demonstrations.

    own, other: whether each item was answered correctly (1 or 0), (draws, items), with one draw
    where there are no demonstrations; or a list by language, with the same draws, for the mean over
    languages. Items that are translations of each other are not independent: pass their mean.
    items: the plural of what counts as one item, for `reason` where there are too few.
    """
    gaps = [a - b for a, b in zip(_languages(own), _languages(other), strict=True)]
    too_few = _too_few(gaps, items)
    if too_few:
        return Estimate(_mean(gaps), reason=too_few)
    mean, error, freedom = (float(of) for of in spread(gaps))
    half = critical(freedom) * error
    p = two_sided(mean / error, freedom)
    return Estimate(mean, mean - half, mean + half, method=_STUDENT, p=p)


def measured_accuracy(correct: Correct, *, items: str = "items") -> Estimate:
    """The accuracy with its 95 % interval (Wilson's, of the effective number of items).

    items: as of `paired_accuracy`.
    """
    parts = _languages(correct)
    too_few = _too_few(parts, items)
    if too_few:
        return Estimate(_mean(parts), reason=too_few)
    mean, error, freedom = (float(of) for of in spread(parts))
    count = sum(part.shape[1] for part in parts)
    worth = mean * (1 - mean) / error**2 if 0 < mean < 1 else count
    low, high = wilson(mean, min(worth, sum(part.size for part in parts)), critical(freedom))
    return Estimate(mean, low, high, method=WILSON)


def relative_score(
    own: Correct, baseline: Correct, chance: float = 0.0, *, items: str = "items"
) -> Estimate:
    """(accuracy - chance) / (the baseline's - chance), with its 95 % interval.

    The interval contains the ratios r for which the score is not significantly different from
    r × the baseline's. There is none where the baseline is not significantly above chance, and the
    ratio is NaN where it is at chance exactly. items: as of `paired_accuracy`.
    """
    upper, lower = ([part - chance for part in _languages(of)] for of in (own, baseline))
    above, below = _mean(upper), _mean(lower)
    ratio = above / below if abs(below) > _ROUNDING else nan
    too_few = _too_few(upper, items)
    if not too_few and (below <= _ROUNDING or _chance_of(lower) > LEVEL):
        too_few = "the baseline is not significantly above chance"
    if too_few:
        return Estimate(ratio, reason=too_few)

    def inside_interval(score: float) -> bool:
        gaps = [a - score * b for a, b in zip(upper, lower, strict=True)]
        return _chance_of(gaps) > LEVEL

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


def spread(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean over languages, its standard error, and the degrees of freedom of that.

    parts: values (..., draws, items) of each language, with the same draws. The standard error is
    at least 1 / (draws × items): equal results do not prove that further results are equal.
    """
    languages, draws = len(parts), parts[0].shape[-2]
    of_draw = np.mean([part.mean(-1) for part in parts], axis=0)  # (..., draws)
    by_items, uncertain, least = (np.zeros(of_draw.shape[:-1]) for _ in range(3))
    for part in parts:
        items = part.shape[-1]
        of_item = part.mean(-2)
        variance = of_item.var(-1, ddof=1) / items
        if draws > 1:
            rest = part - part.mean(-1, keepdims=True) - of_item[..., None, :]
            rest += part.mean((-2, -1), keepdims=True)
            noise = (rest**2).sum((-2, -1)) / ((draws - 1) * (items - 1) * draws * items)
            variance = np.maximum(variance - noise, 0.0)
        by_items += variance / languages**2
        uncertain += (variance / languages**2) ** 2 / (items - 1)
        least += (1.0 / (draws * items) / languages) ** 2
    if draws == 1:
        by_draws, share = np.zeros_like(by_items), 0.0
    else:
        by_draws = of_draw.var(-1, ddof=1) / draws
        share = np.where(by_items > 0, by_draws / (by_draws + by_items + _TINY), by_draws > 0)
    fewest = 1.0 / (min(part.shape[-1] for part in parts) - 1)  # where no item differs
    items_free = np.where(by_items > 0, uncertain / (by_items**2 + _TINY), fewest)
    free = 1.0 / (share / max(draws - 1, 1) + (1 - share) * items_free)
    both = by_items + by_draws
    return of_draw.mean(-1), np.sqrt(np.maximum(both, least)), free


def _mean(parts: Sequence[np.ndarray]) -> float:
    return float(np.mean([part.mean() for part in parts]))


def _chance_of(gaps: Sequence[np.ndarray]) -> float:
    mean, error, freedom = (float(of) for of in spread(gaps))
    return two_sided(mean / error, freedom)


def _languages(correct: Correct) -> list[np.ndarray]:
    parts = [correct] if isinstance(correct, np.ndarray) else list(correct)
    parts = [np.asarray(part, dtype=float) for part in parts]
    assert all(part.ndim == 2 and part.size and len(part) == len(parts[0]) for part in parts)
    return parts


def _too_few(parts: Sequence[np.ndarray], counted: str) -> str:
    draws, items = len(parts[0]), min(part.shape[1] for part in parts)
    if items < FEWEST_ITEMS:
        each, of = (" of each language", " of one") if len(parts) > 1 else ("", "")
        return f"{FEWEST_ITEMS} {counted}{each} are needed, there are {items}{of}"
    if 1 < draws < FEWEST_DRAWS:
        return f"{FEWEST_DRAWS} draws are needed, there are {draws}"
    return ""
