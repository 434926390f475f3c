"""Balanced clusters: every point to one of k clusters that weigh alike, at the least cost in all.

One price a cluster is enough: a point takes the cluster of least cost and price, and a cluster with
too much demand grows dearer. The right prices are where a concave function with a kink at every
point is greatest. It is smoothed, each point taking all clusters by softened shares, climbed by
Newton's steps, and the softness is taken away by and by. (Setting one price after the other stalls
where clusters are in a row.) The prices also give balanced clusters to points that come later.
"""

from dataclasses import dataclass

import numpy as np

from tongues.core.randomness import derive_seed

# Prices. All chosen: rough prices are of some points, so that millions of documents take minutes;
# what clusters weigh unevenly at the end is below _EVEN.
_ENOUGH = 16_384  # points to find rough prices from,
_EVERY = 8  # or every eighth if that is more
_LEVELS = 6  # of softness
_SHARPER = 8  # times from one to the next
_WARM = 3  # the level to begin at when the prices are nearly right
_POOR = 5e-3  # the share of the weight left uneven that is worth another climb from the foot
_EVEN = 5e-4  # the same when a level is done
_STEPS = 8  # at each level, at most
_CUTS = 8  # of a step too long, to a quarter each
_CACHED = 8192  # points that stay in the processor's cache

# K-means. Chosen, too: the starts are as many as the work allows, and more find a lower cost.
_FEW = 8192  # points among which the centres are found first
_STARTS = (5, 50)  # of which the best goes on: at least and at most
_WORK = 1_000_000  # points times clusters, of all starts
_SETTLED = 2e-4  # the gain, in parts of the cost, that is worth no further round


def even_prices(
    costs: np.ndarray, weights: np.ndarray, prices: np.ndarray | None = None
) -> np.ndarray:
    """Prices [k] at which the points that take each cluster (`least`) weigh a k-th of all.

    costs: (k, n), what each point costs in each cluster; no assignment to clusters of such weights
    costs less. weights: [n]. prices: where to start, such as those of a similar assignment. Points
    of equal costs stay together.
    """
    rough = _even_prices(costs, weights, prices, rough=True)
    return _even_prices(costs, weights, rough, rough=False)


def least(columns: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """The cluster of least cost and price for each point; `columns` are the costs as (k, n)."""
    labels = np.zeros(columns.shape[1], np.int64)
    best = columns[0] + prices[0]
    for number in range(1, len(columns)):
        cost = columns[number] + prices[number]
        labels[cost < best] = number
        np.minimum(best, cost, out=best)
    return labels


def _even_prices(
    columns: np.ndarray, weights: np.ndarray, start: np.ndarray | None, *, rough: bool
) -> np.ndarray:
    """Prices at which nearly a k-th of the weight takes each cluster; rough: of some points.

    start: prices that are nearly right, if such are known.
    """
    step = min(max(columns.shape[1] // _ENOUGH, 1), _EVERY) if rough else 1
    columns = np.ascontiguousarray(columns[:, ::step])
    shares = (weights[::step] / weights[::step].sum()).astype(columns.dtype)
    spread = float((columns.mean(axis=0) - columns.min(axis=0)).mean()) or 1.0
    if start is not None:
        prices, uneven = _climb(columns, shares, start, spread, _WARM)
        if uneven < _POOR:
            return prices
    return _climb(columns, shares, np.zeros(len(columns)), spread, 0)[0]


def _climb(
    columns: np.ndarray, shares: np.ndarray, prices: np.ndarray, spread: float, begin: int
) -> tuple[np.ndarray, float]:
    k, slope = len(columns), np.zeros(len(columns))
    for level in range(begin, _LEVELS):
        softness = spread / _SHARPER**level
        value, slope, bend = _softened(columns, shares, prices, softness)
        for _ in range(_STEPS):
            if np.abs(slope).sum() / 2 < _EVEN:
                break
            ridge = 1e-7 * np.trace(bend) / k + 1e-12
            step = np.linalg.solve(bend + ridge * np.eye(k), slope)
            step *= min(1.0, spread / np.abs(step).max())
            for _ in range(_CUTS):
                new = _softened(columns, shares, prices + step, softness)
                if new[0] >= value:
                    break
                step /= 4
            else:
                break
            prices = prices + step
            value, slope, bend = new
    return prices - prices.mean(), float(np.abs(slope).sum()) / 2


def _softened(
    columns: np.ndarray, shares: np.ndarray, prices: np.ndarray, softness: float
) -> tuple[float, np.ndarray, np.ndarray]:
    k, n = columns.shape
    value, sizes, both = -float(prices.mean()), np.zeros(k), np.zeros((k, k))
    raised = prices[:, None].astype(columns.dtype)
    for begin in range(0, n, _CACHED):
        cost = columns[:, begin : begin + _CACHED] + raised
        share = shares[begin : begin + _CACHED]
        lowest = cost.min(axis=0)
        np.subtract(lowest, cost, out=cost)
        cost /= softness
        taken = np.exp(cost, out=cost)
        total = taken.sum(axis=0)
        value += float(share @ (lowest - softness * np.log(total)))
        taken /= total
        weighted = taken * share
        sizes += weighted.sum(axis=1)
        both += weighted @ taken.T
    return value, sizes - 1 / k, (np.diag(sizes) - both) / softness


@dataclass(frozen=True, slots=True, eq=False)
class BalancedMeans:
    """Points in k clusters that weigh alike, each around its centre."""

    centres: np.ndarray  # (k, d), the mean of each cluster
    prices: np.ndarray  # of each cluster: a point's is the least of squared distance + price


def balanced_means(
    points: np.ndarray, k: int, weights: np.ndarray, *, seed: int = 0
) -> BalancedMeans:
    """Cluster n points (n, d) around k centres, so that all clusters weigh alike.

    The best of several starts by k-means++, each settled among some of the points.
    """
    from sklearn.cluster import kmeans_plusplus

    if not 1 <= k <= len(points):
        raise ValueError(f"{len(points)} points cannot be divided into {k} clusters")
    step = -(-len(points) // _FEW)
    few, heavy = np.ascontiguousarray(points[::step]), weights[::step]
    count = min(max(_WORK // (len(few) * k), _STARTS[0]), _STARTS[1])
    starts: list[tuple[float, np.ndarray, np.ndarray]] = []
    for number in range(count):
        state = derive_seed(seed, "start", str(number)) % 2**32
        centres, _ = kmeans_plusplus(few, k, sample_weight=heavy, random_state=state)
        starts.append(_settle(few, heavy, centres))
    _, centres, prices = min(starts, key=lambda start: start[0])
    _, centres, prices = _settle(points, weights, centres, prices)
    return BalancedMeans(centres, even_prices(squared_distances(points, centres), weights, prices))


def squared_distances(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Squared distances of n points to k centres, as (k, n)."""
    distances = centres.astype(np.float32) @ (-2 * points.T)
    distances += (centres**2).sum(axis=1)[:, None]
    distances += np.einsum("nd,nd->n", points, points)
    return np.maximum(distances, 0, out=distances)


def _settle(
    points: np.ndarray, weights: np.ndarray, centres: np.ndarray, prices: np.ndarray | None = None
) -> tuple[float, np.ndarray, np.ndarray]:
    """Move centres to the means of nearly even clusters until that gains little.

    Returns the cost of the points, the centres and the prices.
    """
    before, clusters = np.inf, np.arange(len(centres))[:, None]
    while True:
        costs = squared_distances(points, centres)
        prices = _even_prices(costs, weights, prices, rough=True)
        labels = least(costs, prices)
        total = float(weights @ costs[labels, np.arange(len(labels))].astype(np.float64))
        if total >= before * (1 - _SETTLED):
            return total, centres, prices
        before = total
        member = ((clusters == labels) * weights).astype(np.float32)
        sums = member @ points
        centres = sums / np.maximum(member.sum(axis=1), 1e-12)[:, None]
