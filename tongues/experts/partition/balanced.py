"""Balanced clusters: every point to one of k clusters of one size, at the least cost in all.

One price a cluster is enough: a point takes the cluster of least cost and price, and a cluster with
too much demand grows dearer. The right prices are where a concave function with a kink at every
point is greatest. It is smoothed, each point taking all clusters by softened shares, climbed by
Newton's steps, and the softness is taken away by and by. (Setting one price after the other stalls
where clusters are in a row.) The few points left uneven at the borders are moved one by one
(`repair`). The prices also give balanced clusters to points that come later.
"""

from dataclasses import dataclass

import numpy as np

from tongues.experts.partition.repair import repair

__all__ = ["Assignment", "BalancedMeans", "assign", "balanced_means", "least", "squared_distances"]

# Prices
_ENOUGH = 16_384  # points to find rough prices from,
_EVERY = 8  # or every eighth if that is more
_LEVELS = 6  # of softness
_SHARPER = 8  # times from one to the next
_WARM = 3  # the level to begin at when the prices are nearly right
_POOR = 5e-3  # the share of points left uneven that is worth another climb from the foot
_EVEN = 5e-4  # the same when a level is done
_STEPS = 8  # at each level, at most
_CUTS = 8  # of a step too long, to a quarter each
_CACHED = 8192  # points that stay in the processor's cache

# K-means
_FEW = 8192  # points among which the centres are found first
_STARTS = (5, 50)  # of which the best goes on: at least and at most
_WORK = 1_000_000  # points times clusters, of all starts
_SETTLED = 2e-4  # the gain, in parts of the cost, that is worth no further round
_BLOCK = 65_536  # points in memory at a time, when they are in a file


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Points in clusters of one size."""

    labels: np.ndarray  # of each point, the number of its cluster
    prices: np.ndarray  # of each cluster, with mean 0: a label is the least of cost + price
    total: float  # cost of all points
    bound: float  # what the prices prove: no balanced assignment costs less


def assign(costs: np.ndarray, prices: np.ndarray | None = None) -> Assignment:
    """Assign n points to k clusters whose sizes differ by one at most.

    costs: (n, k), what each point costs in each cluster; a transposed (k, n) array is not copied.
    prices: where to start, such as those of a similar assignment.
    """
    columns = np.ascontiguousarray(costs.T)
    k, n = columns.shape
    rough = _even_prices(columns, prices, rough=True)
    dual = _even_prices(columns, rough, rough=False)
    labels, dual = repair(columns, least(columns, dual), dual)
    dual = dual - dual.mean()
    # the clusters of highest price are the ones that are larger by one
    sizes = n // k + (np.argsort(np.argsort(-dual, kind="stable")) < n % k)
    lowest = np.full(n, np.inf)
    for column, price in zip(columns, dual, strict=True):
        np.minimum(lowest, column + price, out=lowest)
    total = columns[labels, np.arange(n)].sum(dtype=np.float64)
    return Assignment(labels, dual, float(total), float(lowest.sum() - sizes @ dual))


def least(columns: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """The cluster of least cost and price for each point; `columns` are the costs as (k, n)."""
    labels = np.zeros(columns.shape[1], np.int64)
    best = columns[0] + prices[0]
    for number in range(1, len(columns)):
        cost = columns[number] + prices[number]
        labels[cost < best] = number
        np.minimum(best, cost, out=best)
    return labels


def _even_prices(columns: np.ndarray, start: np.ndarray | None, *, rough: bool) -> np.ndarray:
    """Prices at which nearly a k-th of the points takes each cluster; rough: of some points.

    start: prices that are nearly right, if such are known.
    """
    step = min(max(columns.shape[1] // _ENOUGH, 1), _EVERY) if rough else 1
    columns = np.ascontiguousarray(columns[:, ::step])
    shares = np.full(columns.shape[1], 1 / columns.shape[1], columns.dtype)
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
    """Points in k clusters of one size, each around its centre."""

    centres: np.ndarray  # (k, d), the mean of each cluster
    labels: np.ndarray  # of each point, the number of its cluster
    prices: np.ndarray  # of each cluster: a label is the least of squared distance + price
    total: float  # squared distances of all points to their centres
    starts: tuple[float, ...]  # the same of every start, of the points that it had, from the best


def balanced_means(points: np.ndarray, k: int, *, seed: int = 0) -> BalancedMeans:
    """Cluster n points around k centres, as many points to each.

    points: (n, d), in memory or mapped from a file: they are read in blocks.
    """
    if not 1 <= k <= len(points):
        raise ValueError(f"{len(points)} points cannot be divided into {k} clusters")
    step = -(-len(points) // _FEW)
    few = np.ascontiguousarray(points[::step])
    random = np.random.default_rng(seed)
    count = min(max(_WORK // (len(few) * k), _STARTS[0]), _STARTS[1])
    starts = [_settle(few, _far_apart(few, k, random)) for _ in range(count)]
    _, centres, prices = min(starts, key=lambda start: start[0])
    _, centres, prices = _settle(points, centres, prices)
    assigned = assign(squared_distances(points, centres).T, prices)
    costs = tuple(sorted(start[0] for start in starts))
    return BalancedMeans(centres, assigned.labels, assigned.prices, assigned.total, costs)


def squared_distances(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Squared distances of n points to k centres, as (k, n)."""
    distances = np.empty((len(centres), len(points)), np.float32)
    norms = (centres**2).sum(axis=1)[:, None]
    for begin in range(0, len(points), _BLOCK):
        block, out = points[begin : begin + _BLOCK], distances[:, begin : begin + _BLOCK]
        np.matmul(-2 * centres, block.T, out=out)
        out += norms
        out += np.einsum("nd,nd->n", block, block)
    return np.maximum(distances, 0, out=distances)


def _settle(
    points: np.ndarray, centres: np.ndarray, prices: np.ndarray | None = None
) -> tuple[float, np.ndarray, np.ndarray]:
    """Move centres to the means of nearly even clusters until that gains little.

    Returns the cost of the points, the centres and the prices.
    """
    before, k = np.inf, len(centres)
    while True:
        costs = squared_distances(points, centres)
        prices = _even_prices(costs, prices, rough=True)
        labels = least(costs, prices)
        cost = costs[labels, np.arange(len(labels))]
        total = float(cost.sum(dtype=np.float64))
        if total >= before * (1 - _SETTLED):
            return total, centres, prices
        before = total
        sums, sizes = np.zeros((k, points.shape[1])), np.zeros(k)
        for begin in range(0, len(points), _BLOCK):
            some = slice(begin, begin + _BLOCK)
            member = (np.arange(k)[:, None] == labels[some]).astype(np.float32)
            sums += member @ points[some]
            sizes += member.sum(axis=1)
        centres = (sums / np.maximum(sizes, 1e-12)[:, None]).astype(np.float32)


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
