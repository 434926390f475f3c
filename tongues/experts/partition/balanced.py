"""Balanced clusters: every point to one of k clusters that weigh alike, at the least cost in all.

One price a cluster is enough: a point takes the cluster of least cost and price, and a cluster with
too much demand grows dearer. The right prices are where a concave function with a kink at every
point is greatest. It is smoothed, each point taking all clusters by softened shares, climbed by
L-BFGS, and the softness is taken away by and by. (Setting one price after the other stalls where
clusters are in a row.) The prices also give balanced clusters to points that come later.
"""

from dataclasses import dataclass

import numpy as np

from tongues.core.randomness import derive_seed

# Prices. All chosen: what clusters weigh unevenly at the end is below a thousandth of the weight.
_ENOUGH = 16_384  # points to find rough prices from, as centres still move
_LEVELS = 6  # of softness
_SHARPER = 8  # times from one to the next
_WARM = 3  # the level to begin at when the prices are nearly right
_STEPS = 50  # at each level, at most

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
    costs less. weights: [n]. prices: that are nearly right, such as those of a similar assignment.
    Points of equal costs stay together.
    """
    from scipy.optimize import minimize

    shares = (weights / weights.sum()).astype(costs.dtype)
    spread = float((costs.mean(axis=0) - costs.min(axis=0)).mean()) or 1.0
    begin, found = (0, np.zeros(len(costs))) if prices is None else (_WARM, prices)
    for level in range(begin, _LEVELS):
        given, options = (costs, shares, spread / _SHARPER**level), {"maxiter": _STEPS}
        found = minimize(_softened, found, given, "L-BFGS-B", jac=True, options=options).x
    return found - found.mean()


def _softened(
    prices: np.ndarray, costs: np.ndarray, shares: np.ndarray, softness: float
) -> tuple[float, np.ndarray]:
    """What is least at the prices, and its slope: how far each cluster is from an even weight."""
    raised = costs + prices[:, None].astype(costs.dtype)
    lowest = raised.min(axis=0)
    taken = np.exp((lowest - raised) / softness)
    total = taken.sum(axis=0)
    value = float(prices.mean()) - float(shares @ (lowest - softness * np.log(total)))
    return value, 1 / len(prices) - ((taken / total) @ shares).astype(np.float64)


def least(columns: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """The cluster of least cost and price for each point; `columns` are the costs as (k, n)."""
    return (columns + prices[:, None]).argmin(axis=0)


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
        costs, step = squared_distances(points, centres), max(len(points) // _ENOUGH, 1)
        prices = even_prices(costs[:, ::step], weights[::step], prices)
        labels = least(costs, prices)
        total = float(weights @ costs[labels, np.arange(len(labels))].astype(np.float64))
        if total >= before * (1 - _SETTLED):
            return total, centres, prices
        before = total
        member = ((clusters == labels) * weights).astype(np.float32)
        sums = member @ points
        centres = sums / np.maximum(member.sum(axis=1), 1e-12)[:, None]
