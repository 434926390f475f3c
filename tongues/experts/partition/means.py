"""Balanced k-means: k centres, each with as many points as the others."""

from dataclasses import dataclass

import numpy as np

from tongues.experts.partition.balanced import assign, least
from tongues.experts.partition.prices import rough_prices

__all__ = ["Means", "balanced_means", "squared_distances"]

_FEW = 8192  # points among which the centres are found first
_STARTS = 5  # of which the best goes on
_SETTLED = 2e-4  # the gain, in parts of the cost, that is worth no further round
_BLOCK = 65_536  # points in memory at a time, when they lie in a file


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Points in k parts of one size, each around its centre."""

    centres: np.ndarray  # (k, d), the mean of each part
    labels: np.ndarray  # of each point, the number of its part
    prices: np.ndarray  # of each part: a label is the least of squared distance + price
    total: float  # squared distances of all points to their centres, as often as they weigh


def balanced_means(
    points: np.ndarray, k: int, weights: np.ndarray | None = None, *, seed: int = 0
) -> Means:
    """Divide n points into k parts of one size around k centres.

    points: (n, d), in memory or mapped from a file: they are read in blocks.
    weights: of the points; then the parts' weights are equal, as nearly as whole points allow.
    """
    if not 1 <= k <= len(points):
        raise ValueError(f"{len(points)} points cannot be divided into {k} parts")
    step = -(-len(points) // _FEW)
    few = np.ascontiguousarray(points[::step])
    few_weights = None if weights is None else weights[::step]
    random = np.random.default_rng(seed)
    starts = [_settle(few, few_weights, _far_apart(few, k, random)) for _ in range(_STARTS)]
    _, centres, prices = min(starts, key=lambda found: found[0])
    _, centres, prices = _settle(points, weights, centres, prices)
    costs = squared_distances(points, centres)
    assigned = assign(costs.T, weights, prices=prices)
    return Means(centres, assigned.labels, assigned.prices, assigned.total)


def squared_distances(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Squared distances of n points to k centres, as (k, n)."""
    distances = np.empty((len(centres), len(points)), np.float32)
    norms = (centres**2).sum(axis=1)[:, None]
    for begin in range(0, len(points), _BLOCK):
        block = points[begin : begin + _BLOCK]
        part = distances[:, begin : begin + _BLOCK]
        np.matmul(-2 * centres, block.T, out=part)
        part += norms
        part += np.einsum("nd,nd->n", block, block)
    return np.maximum(distances, 0, out=distances)


def _settle(
    points: np.ndarray,
    weights: np.ndarray | None,
    centres: np.ndarray,
    prices: np.ndarray | None = None,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Move centres to the means of nearly even parts until that gains little.

    Returns what the points then cost, the centres and the prices.
    """
    before = np.inf
    while True:
        costs = squared_distances(points, centres)
        prices = rough_prices(costs, weights, prices)
        labels = least(costs, prices)
        cost = costs[labels, np.arange(len(labels))]
        total = float(cost.sum(dtype=np.float64) if weights is None else cost @ weights)
        if total >= before * (1 - _SETTLED):
            return total, centres, prices
        before = total
        centres = _means(points, weights, labels, len(centres))


def _means(
    points: np.ndarray, weights: np.ndarray | None, labels: np.ndarray, k: int
) -> np.ndarray:
    """The mean of each part's points."""
    sums, sizes = np.zeros((k, points.shape[1])), np.zeros(k)
    for begin in range(0, len(points), _BLOCK):
        own = np.arange(k)[:, None] == labels[begin : begin + _BLOCK]
        member = own.astype(np.float32)
        if weights is not None:
            member *= weights[begin : begin + _BLOCK]
        sums += member @ points[begin : begin + _BLOCK]
        sizes += member.sum(axis=1)
    return (sums / np.maximum(sizes, 1e-12)[:, None]).astype(np.float32)


def _far_apart(points: np.ndarray, k: int, random: np.random.Generator) -> np.ndarray:
    """K of the points, each drawn by its squared distance to those before it (k-means++)."""
    chosen = [int(random.integers(len(points)))]
    nearest = squared_distances(points, points[chosen])[0].astype(np.float64)
    while len(chosen) < k:
        total = nearest.sum()
        odds = nearest / total if total > 0 else np.full(len(points), 1 / len(points))
        chosen.append(int(random.choice(len(points), p=odds)))
        np.minimum(nearest, squared_distances(points, points[chosen[-1:]])[0], out=nearest)
    return points[chosen].astype(np.float32)
