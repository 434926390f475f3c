import numpy as np
import pytest

from tongues.experts.partition.balanced import least
from tongues.experts.partition.means import balanced_means, squared_distances


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


def test_weights_are_balanced() -> None:
    points, _ = clouds(6000, 6, seed=6)
    weights = np.random.default_rng(7).lognormal(4, 1, 6000)
    means = balanced_means(points, 6, weights)
    sizes = np.bincount(means.labels, weights)
    assert np.abs(sizes / sizes.mean() - 1).max() < 0.01
