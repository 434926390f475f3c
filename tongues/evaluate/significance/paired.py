"""Losses of the same documents by two models, and how luck among documents moves them.

Were there nothing between the models but luck, the documents of a random half would be as good for
one as the other half. So the documents are cut at random into two sets many times over: a
difference d is believed while, in at least 5 % of the cuts, it lies between the differences on the
two sets. Where documents of equal models fall to either side alike, that errs in 5 % of cases
exactly, however few they are, however unlike in length, and whatever the tails. A bootstrap of
few documents does not (docs/significance.md).
"""

import numpy as np

from tongues.evaluate.significance.difference import Difference, Measured
from tongues.evaluate.significance.student import LEVEL
from tongues.randomness import derive_seed

__all__ = [
    "FEWEST_DOCUMENTS",
    "halves",
    "measured_loss",
    "paired_loss",
]

FEWEST_DOCUMENTS = 6  # five have 16 cuts, one in which no set is empty too many
_ALL_CUTS = 13  # of so many documents every cut is made
_CUTS = 10_000
_EMPTY = 1e-12  # of all units: what rounding leaves in an empty set
_AT_ONCE = 500  # documents whose cuts are in memory, 40 MB


def paired_loss(own: np.ndarray, other: np.ndarray, units: np.ndarray) -> Difference:
    """Own loss less the other's, a unit of text, sum over sum.

    own, other: nats (or bits) of each document by the two. units: tokens or bytes of each; bytes
    where the two have not one tokenizer.
    """
    return _difference(np.asarray(own) - np.asarray(other), np.asarray(units), "documents")


def measured_loss(nats: np.ndarray, units: np.ndarray) -> Measured:
    """The loss a unit of text, sum over sum, with its interval over documents."""
    found = _difference(np.asarray(nats), np.asarray(units), "documents")
    return Measured(found.mean, found.low, found.high, found.lacking)


def halves(gap: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lower and the higher ratio of gap to units in the two sets of each cut: (..., cuts).

    gap, units: (..., documents). A set that is empty or without units bounds nothing.
    """
    of_gap, of_units = _sums(np.stack([gap, units]))
    all_gap, all_units = gap.sum(-1, keepdims=True), units.sum(-1, keepdims=True)
    least = _EMPTY * all_units
    whole = (of_units > least) & (all_units - of_units > least)
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = of_gap / of_units, (all_gap - of_gap) / (all_units - of_units)
    low = np.where(whole, np.minimum(one, other), -np.inf)
    return low, np.where(whole, np.maximum(one, other), np.inf)


def _difference(gap: np.ndarray, units: np.ndarray, unit: str) -> Difference:
    mean = float(gap.sum() / units.sum())
    if len(gap) < FEWEST_DOCUMENTS:
        lacking = f"{FEWEST_DOCUMENTS} {unit} are needed, there are {len(gap)}"
        return Difference(mean, None, None, None, lacking=lacking)
    lower, higher = halves(gap, units)
    beyond = int(LEVEL * lower.size)
    low, high = np.sort(lower)[beyond], np.sort(higher)[-1 - beyond]
    p = float(np.mean((lower <= 0.0) & (higher >= 0.0)))
    return Difference(mean, float(low), float(high), p)


def _sums(values: np.ndarray) -> np.ndarray:
    """The sum of one set of each cut, (..., cuts); the first set is everything."""
    count = values.shape[-1]
    if count <= _ALL_CUTS:
        cuts = np.arange(2 ** (count - 1))[:, None] >> np.arange(count)
        return values @ (cuts & 1 ^ 1).T.astype(float)
    random = np.random.default_rng(derive_seed(0, "cuts", count))
    total = np.zeros((*values.shape[:-1], _CUTS))
    for start in range(0, count, _AT_ONCE):
        part = values[..., start : start + _AT_ONCE]
        cuts = random.integers(0, 2, (_CUTS, part.shape[-1]), dtype=np.int8)
        cuts[0] = 1
        total += part @ cuts.T.astype(float)
    return total
