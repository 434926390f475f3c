from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tongues.experts.partition.balanced import (
    assign,
    balanced_means,
    least,
    squared_distances,
)


def cheapest(costs: np.ndarray) -> float:
    """The least cost of all assignments with sizes within one, each looked at."""
    n, k = costs.shape
    totals = [
        costs[np.arange(n), labels].sum()
        for labels in product(range(k), repeat=n)
        if np.ptp(np.bincount(labels, minlength=k)) <= 1
    ]
    return float(min(totals))


def grouped(n: int, k: int, seed: int) -> np.ndarray:
    """Squared distances of points in groups of very unequal size to k of them."""
    random = np.random.default_rng(seed)
    groups = 3 * random.normal(size=(3 * k, 8))
    points = groups[random.choice(3 * k, n, p=random.dirichlet(np.ones(3 * k)))]
    points = points + random.normal(size=(n, 8))
    centres = points[random.choice(n, k, replace=False)]
    return ((points[:, None] - centres) ** 2).sum(axis=2)


small_costs = st.tuples(st.integers(1, 7), st.integers(1, 3)).flatmap(
    lambda shape: st.one_of(
        arrays.arrays(float, shape, elements=st.integers(-3, 3).map(float)),
        arrays.arrays(float, shape, elements=st.floats(-5, 5, width=32)),
    )
)


@settings(deadline=None, max_examples=150)
@given(small_costs)
def test_the_assignment_is_the_cheapest_there_is(costs: np.ndarray) -> None:
    assigned, best = assign(costs), cheapest(costs)
    assert np.ptp(np.bincount(assigned.labels, minlength=costs.shape[1])) <= 1
    assert assigned.total == pytest.approx(best, abs=1e-6)
    assert assigned.bound == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize(("n", "k"), [(4000, 8), (4003, 8), (3999, 20), (5, 8), (64, 64)])
def test_prices_prove_that_nothing_cheaper_is_balanced(n: int, k: int) -> None:
    costs = grouped(max(n, k), k, seed=n)[:n].astype(np.float32)
    assigned = assign(costs)
    assert np.ptp(np.bincount(assigned.labels, minlength=k)) <= 1
    assert assigned.bound == pytest.approx(assigned.total, rel=1e-9)


def test_parts_in_a_row_and_points_all_alike_are_no_trouble() -> None:
    row = (np.random.default_rng(1).random((3000, 1)) ** 3 - np.linspace(0, 1, 20)) ** 2
    alike = np.ones((3001, 8)) * np.arange(8)
    kinds = np.random.default_rng(2).random((5, 8))[np.arange(3001) % 5]
    for costs in (row, alike, kinds):
        assigned = assign(costs)
        assert np.ptp(np.bincount(assigned.labels)) <= 1
        assert assigned.bound == pytest.approx(assigned.total, rel=1e-9, abs=1e-9)


def test_prices_divide_points_that_come_later() -> None:
    costs = grouped(60_000, 8, seed=3)
    known, fresh = costs[:30_000], costs[30_000:]
    prices = assign(known).prices
    assert np.abs(np.bincount(least(known.T, prices)) / 3750 - 1).max() < 0.001
    assert np.abs(np.bincount(least(fresh.T, prices)) / 3750 - 1).max() < 0.06


def test_knowing_the_prices_changes_nothing() -> None:
    costs = grouped(4000, 8, seed=6)
    cold = assign(costs)
    warm = assign(costs, prices=cold.prices)
    wrong = assign(costs, prices=np.linspace(0, 100, 8))
    assert warm.total == pytest.approx(cold.total, rel=1e-12)
    assert wrong.total == pytest.approx(cold.total, rel=1e-12)


def clouds(n: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points around k centres far apart, equally many to each, and the number of each."""
    random = np.random.default_rng(seed)
    number = random.permutation(np.arange(n) % k)
    points = 10 * random.normal(size=(k, 6))[number] + random.normal(size=(n, 6))
    return points.astype(np.float32), number


def test_distances_are_those_of_every_pair() -> None:
    points, _ = clouds(50, 3, seed=0)
    right = ((points[None] - points[:4, None]) ** 2).sum(axis=2)
    assert squared_distances(points, points[:4]) == pytest.approx(right, abs=2e-3)


def test_clouds_are_found() -> None:
    points, number = clouds(4003, 5, seed=1)
    labels = balanced_means(points, 5, seed=2).labels
    pairs = np.unique(np.stack([labels, number]), axis=1)
    assert np.ptp(np.bincount(labels)) <= 1
    assert pairs.shape[1] <= 8  # but for the points that k does not divide, 5 pairs


@pytest.mark.parametrize(("n", "k"), [(3000, 8), (3001, 8), (7, 7), (9, 1), (40, 11)])
def test_sizes_differ_by_one_at_the_most(n: int, k: int) -> None:
    points = np.random.default_rng(n).normal(size=(n, 4)).astype(np.float32)
    means = balanced_means(points, k)
    assert np.ptp(np.bincount(means.labels, minlength=k)) <= 1
    costs = squared_distances(points, means.centres)
    assert means.total == pytest.approx(float(costs[means.labels, np.arange(n)].sum()), rel=1e-5)
    assert (least(costs, means.prices) == means.labels).mean() > 0.99 - 10 / n


def test_the_same_seed_gives_the_same_parts_and_a_file_too(tmp_path) -> None:
    points = np.random.default_rng(3).normal(size=(9000, 5)).astype(np.float32)
    np.save(tmp_path / "points.npy", points)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    one, two = balanced_means(points, 4, seed=5), balanced_means(mapped, 4, seed=5)
    assert np.array_equal(one.labels, two.labels)


@pytest.mark.parametrize("seed", range(4))
def test_several_starts_find_pairs_that_one_start_misses(seed: int) -> None:
    """Eight languages in four pairs of relatives: no single point can leave a wrong pair."""
    random = np.random.default_rng(seed)
    centres = np.eye(8) + 0.35 * np.eye(8)[[1, 0, 3, 2, 5, 4, 7, 6]]
    points = np.repeat(centres, 25, axis=0) + random.normal(0, 0.05, (200, 8))
    means = balanced_means(points.astype(np.float32), 4, seed=seed)
    pairs = means.labels.reshape(4, 50)
    assert all(len(set(pair)) == 1 for pair in pairs.tolist())
    assert len(means.starts) == 50
    assert means.starts[0] == pytest.approx(means.total, rel=1e-3)
    assert means.starts[-1] > 1.1 * means.starts[0]
