"""Significance of the difference between two models' losses on the same documents.

The test splits the documents at random into two sets, 10,000 times. The confidence interval
contains every difference d that is between the differences on the two sets in at least 5 % of the
splits. If the sign of each document's deviation from d is random, the error rate is at most 5 %,
for any number, length and distribution of documents. A bootstrap of few documents has a higher
error rate (docs/explanation/significance.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from math import exp
from typing import TypeVar

import numpy as np

from tongues.core.estimate import LEVEL, Estimate
from tongues.core.randomness import derive_seed

CUTS = "a paired permutation test over documents"
FEWEST_DOCUMENTS = 6  # five have 16 cuts: p >= 1/16
_ALL_CUTS = 13  # chosen; up to so many documents every cut is made: 4,096, fewer than drawn ones
_CUTS = 10_000  # chosen; a p of 0.05 then has a standard error of 0.002
_EMPTY = 1e-12  # chosen; share of all units that rounding may leave in an empty set
_RARE = 0.025  # half of LEVEL; share of the cuts that may leave a language's set empty
_BATCH = 500  # documents whose cuts are in memory as floats: 40 MB

Key = TypeVar("Key")
Groups = Sequence[str]  # documents of one group are always in the same set


def paired_loss(
    own: np.ndarray, other: np.ndarray, units: np.ndarray, groups: Groups | None = None
) -> Estimate:
    """Own loss minus the other's, per unit of text.

    own, other: nats (or bits) of each document under the two models. units: tokens or bytes of each
    document; bytes where the tokenizers differ. groups: of each document; None: no groups.
    """
    return _difference(*_together(np.asarray(own) - np.asarray(other), np.asarray(units), groups))


def paired_mean(
    own: Sequence[np.ndarray],
    other: Sequence[np.ndarray],
    units: Sequence[np.ndarray],
    groups: Sequence[Groups] | None = None,
) -> Estimate:
    """The mean over languages, equally weighted, of own loss minus the other's.

    The arguments are those of `paired_loss` for each language; documents of one group, such as
    translations of each other, are in the same set in all languages.
    """
    totals = [float(np.sum(of)) for of in units]
    gaps = [(a - b) / total for a, b, total in zip(own, other, totals, strict=True)]
    shares = [of / total for of, total in zip(units, totals, strict=True)]
    places, count = _places(shares, groups)
    bounds = _mean_halves(gaps, shares, places, count)
    if bounds is None:
        place = np.concatenate(places)
        gap, share = (np.bincount(place, np.concatenate(of)) for of in (gaps, shares))
        return _difference(gap, share, "")
    return _between(sum(float(of.sum()) for of in gaps) / len(gaps), *bounds, documents=count)


def measured_loss(nats: np.ndarray, units: np.ndarray, groups: Groups | None = None) -> Estimate:
    """The loss per unit of text, with its confidence interval over documents."""
    return replace(_difference(*_together(np.asarray(nats), np.asarray(units), groups)), p=None)


def fewest_documents(comparisons: int = 1) -> int:
    """The number of documents below which no difference is significant after correction."""
    count = FEWEST_DOCUMENTS
    while comparisons * _least(count) > LEVEL:
        count += 1
    return count


def holm(differences: Mapping[Key, Estimate], among: int | None = None) -> dict[Key, Estimate]:
    """The differences with Holm-corrected p: the family-wise error rate is at most 5 %.

    Differences without p are not counted. Confidence intervals are not corrected. among: the number
    of comparisons these were chosen from, where it is larger. `reason` is set where the documents
    are too few for the number of comparisons.
    """
    ranked = [(of.p, key) for key, of in differences.items() if of.p is not None]
    ranked.sort(key=lambda pair: pair[0])
    count = max(len(ranked), among or 0)
    corrected, p = dict(differences), 0.0
    for place, (own, key) in enumerate(ranked):
        p = max(p, min(1.0, own * (count - place)))
        of = corrected[key] = replace(differences[key], p=p, among=count)
        needed = fewest_documents(count) if of.method == CUTS and of.n is not None else 0
        if p > LEVEL and (of.n or 0) < needed:
            least = f"{needed} independent documents are needed for {count} comparisons"
            corrected[key] = replace(of, reason=f"{least}, there are {of.n}")
    return corrected


def halves(gap: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lower and the higher ratio of gap to units in the two sets of each cut: (..., cuts).

    gap, units: (..., documents). Where a set is empty or without units, the ratios are infinite.
    """
    of_gap, of_units = _sums(np.stack([gap, units]))
    all_gap, all_units = gap.sum(-1, keepdims=True), units.sum(-1, keepdims=True)
    least = _EMPTY * all_units
    whole = (of_units > least) & (all_units - of_units > least)
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = of_gap / of_units, (all_gap - of_gap) / (all_units - of_units)
    low = np.where(whole, np.minimum(one, other), -np.inf)
    return low, np.where(whole, np.maximum(one, other), np.inf)


def _difference(gap: np.ndarray, units: np.ndarray, apart: str) -> Estimate:
    mean, count = float(gap.sum() / units.sum()), len(gap)
    if count < FEWEST_DOCUMENTS:
        reason = f"{FEWEST_DOCUMENTS} independent documents are needed, there are {count}{apart}"
        return Estimate(mean, n=count, method=CUTS, reason=reason)
    difference = _between(mean, *halves(gap, units), documents=count)
    assert difference.p is not None
    return replace(difference, p=min(difference.p, _bound(gap)))


def _between(mean: float, lower: np.ndarray, higher: np.ndarray, *, documents: int) -> Estimate:
    """The difference with its confidence interval and p-value."""
    beyond = int(LEVEL * lower.size)
    low, high = float(np.sort(lower)[beyond]), float(np.sort(higher)[-1 - beyond])
    p = float(np.mean((lower <= 0.0) & (higher >= 0.0)))
    return Estimate(mean, low, high, n=documents, method=CUTS, p=p)


def _bound(gap: np.ndarray) -> float:
    """Hoeffding's upper bound on the p-value of all cuts; it may be below 1 / 10,000."""
    squares = float((gap**2).sum())
    return 2.0 * exp(-(float(gap.sum()) ** 2) / squares / 2.0) if squares else 1.0


def _least(documents: int) -> float:
    if documents <= _ALL_CUTS:
        return 2.0 ** (1 - documents)
    return min(1.0 / _CUTS, 2.0 * exp(-documents / 2.0))


def _together(
    gap: np.ndarray, units: np.ndarray, groups: Groups | None
) -> tuple[np.ndarray, np.ndarray, str]:
    if groups is None or len(set(groups)) == len(groups):
        return gap, units, ""
    number = {name: place for place, name in enumerate(dict.fromkeys(groups))}
    place = [number[name] for name in groups]
    gaps, sizes = np.bincount(place, weights=gap), np.bincount(place, weights=units)
    return gaps, sizes, ": those of one group count once"


def _mean_halves(
    gaps: Sequence[np.ndarray],
    shares: Sequence[np.ndarray],
    places: Sequence[np.ndarray],
    count: int,
) -> tuple[np.ndarray, np.ndarray] | None:
    """As `halves`, of the mean over languages, of which each has its own sums.

    places: the number of each document's group, whose documents are in the same set in all
    languages. None where sets of a language with few documents are empty too often.
    """
    random = np.random.default_rng(derive_seed(0, "cuts", count))
    sums = np.zeros((len(gaps), 2, _CUTS))
    for start in range(0, count, _BATCH):
        cuts = random.integers(0, 2, (_CUTS, min(_BATCH, count - start)), dtype=np.int8)
        cuts[0] = 1
        for of, gap, share, place in zip(sums, gaps, shares, places, strict=True):
            here = (place >= start) & (place < start + _BATCH)
            of += np.stack([gap, share])[:, here] @ cuts[:, place[here] - start].T.astype(float)
    of_gap, of_share = sums[:, 0], sums[:, 1]
    whole = ((of_share > _EMPTY) & (of_share < 1.0 - _EMPTY)).all(0)
    if np.mean(~whole) > _RARE:
        return None
    total = np.array([gap.sum() for gap in gaps])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (of_gap / of_share).mean(0), ((total - of_gap) / (1.0 - of_share)).mean(0)
    low = np.where(whole, np.minimum(one, other), -np.inf)
    return low, np.where(whole, np.maximum(one, other), np.inf)


def _places(
    shares: Sequence[np.ndarray], groups: Sequence[Groups] | None
) -> tuple[list[np.ndarray], int]:
    if groups is None:
        ends = np.cumsum([0, *map(len, shares)])
        return [np.arange(a, b) for a, b in pairwise(ends.tolist())], int(ends[-1])
    number = {name: n for n, name in enumerate(dict.fromkeys(chain(*groups)))}
    return [np.array([number[name] for name in of]) for of in groups], len(number)


def _sums(values: np.ndarray) -> np.ndarray:
    """The sum over one set of each cut, (..., cuts); the first set has all documents."""
    count = values.shape[-1]
    if count <= _ALL_CUTS:
        cuts = np.arange(2 ** (count - 1))[:, None] >> np.arange(count)
        return values @ (cuts & 1 ^ 1).T.astype(float)
    random = np.random.default_rng(derive_seed(0, "cuts", count))
    total = np.zeros((*values.shape[:-1], _CUTS))
    for start in range(0, count, _BATCH):
        part = values[..., start : start + _BATCH]
        cuts = random.integers(0, 2, (_CUTS, part.shape[-1]), dtype=np.int8)
        cuts[0] = 1
        total += part @ cuts.T.astype(float)
    return total
