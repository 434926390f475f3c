import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

from tongues.experts.partition.balanced import balanced_means, even_prices, least, squared_distances


def grouped(n: int, k: int, seed: int) -> np.ndarray:
    """Squared distances, [k, n], of points in groups of very unequal size to k of them."""
    random = np.random.default_rng(seed)
    groups = 3 * random.normal(size=(3 * k, 8))
    points = groups[random.choice(3 * k, n, p=random.dirichlet(np.ones(3 * k)))]
    points = points + random.normal(size=(n, 8))
    centres = points[random.choice(n, k, replace=False)]
    return ((points - centres[:, None]) ** 2).sum(axis=2)


def lengths(n: int, seed: int) -> np.ndarray:
    """Of documents, as unlike as those of two sources."""
    random = np.random.default_rng(seed)
    return np.where(random.random(n) < 0.3, random.integers(300, 900, n), random.integers(5, 90, n))


def sizes(labels: np.ndarray, weights: np.ndarray, k: int) -> np.ndarray:
    """What each cluster weighs, relative to an even one."""
    return k * np.bincount(labels, weights, k) / weights.sum()


@pytest.mark.parametrize(("n", "k"), [(200, 3), (300, 5)])
def test_no_balanced_assignment_costs_less(n: int, k: int) -> None:
    """The dual's value is the optimum of the linear programme, where points may be divided."""
    costs, weights = grouped(n, k, seed=n), lengths(n, seed=n).astype(float)
    points, clusters = np.tile(np.arange(n), k), np.repeat(np.arange(k), n)
    whole = coo_array((np.ones(n * k), (points, np.arange(n * k))))
    even = coo_array((weights[points], (clusters, np.arange(n * k))))
    best = linprog(
        (costs * weights).ravel(),
        A_eq=np.vstack([whole.toarray(), even.toarray()]),
        b_eq=np.append(np.ones(n), np.full(k, weights.sum() / k)),
    ).fun
    prices = even_prices(costs, weights)
    assert prices.mean() == pytest.approx(0, abs=1e-9)
    assert weights @ (costs + prices[:, None]).min(axis=0) == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize(("n", "k"), [(4000, 8), (3999, 20), (40_003, 8)])
def test_clusters_weigh_alike(n: int, k: int) -> None:
    costs = grouped(n, k, seed=n).astype(np.float32)
    for weights in (np.ones(n), lengths(n, seed=1)):
        found = sizes(least(costs, even_prices(costs, weights)), weights, k)
        assert np.abs(found - 1).max() < 60 * k / n


def test_clusters_in_a_row_are_no_trouble() -> None:
    row = (np.random.default_rng(1).random((3000, 1)) - np.linspace(0, 1, 20)) ** 2
    labels = least(row.T, even_prices(row.T, np.ones(3000)))
    assert np.abs(sizes(labels, np.ones(3000), 20) - 1).max() < 0.05
    alike = np.ones((8, 3001)) * np.arange(8)[:, None]
    assert np.isfinite(even_prices(alike, np.ones(3001))).all()


def test_prices_divide_points_that_come_later() -> None:
    costs, weights = grouped(60_000, 8, seed=3), np.ones(30_000)
    prices = even_prices(costs[:, :30_000], weights)
    assert np.abs(sizes(least(costs[:, 30_000:], prices), weights, 8) - 1).max() < 0.06
    wrong = even_prices(costs[:, :30_000], weights, np.linspace(0, 100, 8))
    np.testing.assert_allclose(wrong, prices, atol=0.02)


def test_distances_are_those_of_every_pair() -> None:
    points = np.random.default_rng(0).normal(0, 10, (50, 6)).astype(np.float32)
    right = ((points[None] - points[:4, None]) ** 2).sum(axis=2)
    assert squared_distances(points, points[:4]) == pytest.approx(right, abs=2e-3)


def test_clouds_are_found() -> None:
    random = np.random.default_rng(1)
    number = random.permutation(np.arange(4000) % 5)
    points = 10 * random.normal(size=(5, 6))[number] + random.normal(size=(4000, 6))
    points = points.astype(np.float32)
    means = balanced_means(points, 5, np.ones(4000), seed=2)
    labels = least(squared_distances(points, means.centres), means.prices)
    pairs = np.unique(np.stack([labels, number]), axis=1, return_counts=True)[1]
    assert np.sort(pairs)[-5:].sum() > 0.998 * 4000
    again = balanced_means(points, 5, np.ones(4000), seed=2)
    assert np.array_equal(means.centres, again.centres)


@pytest.mark.parametrize("seed", range(4))
def test_several_starts_find_pairs_that_one_start_misses(seed: int) -> None:
    """Eight languages in four pairs of relatives: no single point can leave a wrong pair."""
    random = np.random.default_rng(seed)
    centres = np.eye(8) + 0.35 * np.eye(8)[[1, 0, 3, 2, 5, 4, 7, 6]]
    points = np.repeat(centres, 25, axis=0) + random.normal(0, 0.05, (200, 8))
    points = points.astype(np.float32)
    means = balanced_means(points, 4, np.ones(200), seed=seed)
    pairs = least(squared_distances(points, means.centres), means.prices).reshape(4, 50)
    assert all(len(set(pair)) == 1 for pair in pairs.tolist())
