"""Balanced assignment: every point to one of k parts of one size, at the least cost in all.

One price a part is enough: a point takes the part where its cost and the part's price come to the
least, and a part that is asked for too much grows dearer. At the right prices the sizes come out
even but for a few points at the borders, which are moved one by one. The prices also give
balanced parts to points that come later.
"""

from dataclasses import dataclass

import numpy as np

from tongues.experts.partition.prices import even_prices, rough_prices
from tongues.experts.partition.repair import repair

__all__ = ["Assigned", "assign", "least"]


@dataclass(frozen=True, slots=True, eq=False)
class Assigned:
    """Points in parts of one size."""

    labels: np.ndarray  # of each point, the number of its part
    prices: np.ndarray  # of each part, with mean 0: a label is the least of cost + price
    total: float  # cost of all points, each as often as it weighs
    bound: float  # what the prices prove: no balanced assignment costs less


def assign(
    costs: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    prices: np.ndarray | None = None,
) -> Assigned:
    """Assign n points to k parts so that the parts' sizes differ by one at the most.

    costs: (n, k), what each point costs in each part; of equal speed for either memory order,
        but a transposed (k, n) array is not copied.
    weights: of the points, such as the tokens of documents: then the parts' weights are equal as
        nearly as whole points allow, and a point counts as often as it weighs. The last points
        are moved greedily then; without weights no balanced assignment costs less.
    prices: where to start, such as those of a similar assignment.
    """
    columns = np.ascontiguousarray(costs.T)
    found = even_prices(columns, weights, rough_prices(columns, weights, prices))
    labels = least(columns, found)
    if weights is None:
        labels, found = repair(columns, labels, found)
        found = found - found.mean()
    else:
        labels = _mend(columns, labels, weights)
    return Assigned(labels, found, *_account(columns, labels, weights, found))


def least(columns: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """The part of least cost and price for each point; `columns` are the costs as (k, n)."""
    labels = np.zeros(columns.shape[1], np.int64)
    best = columns[0] + prices[0]
    for part in range(1, len(columns)):
        cost = columns[part] + prices[part]
        better = cost < best
        labels[better] = part
        np.minimum(best, cost, out=best)
    return labels


def _mend(columns: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Move the points that regret it least from parts too heavy to parts too light."""
    labels, k = labels.copy(), len(columns)
    sizes = np.bincount(labels, weights, k)
    wanted = sizes.mean()
    for target in np.argsort(sizes, kind="stable"):
        missing = wanted - sizes[target]
        spare = np.minimum(sizes - wanted, missing)  # of each other part
        members = np.flatnonzero(weights <= spare[labels])
        regret = columns[target, members] - columns[labels[members], members]
        members = members[np.argsort(regret, kind="stable")]
        for source in np.flatnonzero(spare > 0):
            own = members[labels[members] == source]
            beyond = own[np.cumsum(weights[own]) > spare[source]]
            members = members[~np.isin(members, beyond)]
        chosen = members[np.cumsum(weights[members]) <= missing]
        sizes -= np.bincount(labels[chosen], weights[chosen], k)
        sizes[target] += weights[chosen].sum()
        labels[chosen] = target
    return labels


def _account(
    columns: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, prices: np.ndarray
) -> tuple[float, float]:
    """What an assignment costs, and the least that the prices allow."""
    k, n = columns.shape
    weight = np.ones(n) if weights is None else weights
    asked = np.full(n, np.inf)
    for column, price in zip(columns, prices, strict=True):
        np.minimum(asked, column + price, out=asked)
    sizes = np.full(k, weight.sum() / k)
    if weights is None:  # the dearest parts are the ones that are larger by one
        sizes = n // k + (np.argsort(np.argsort(-prices, kind="stable")) < n % k)
    total = columns[labels, np.arange(n)].astype(np.float64) @ weight
    return float(total), float(asked @ weight - sizes @ prices)
