import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import coo_array

from tongues.core.errors import UserError
from tongues.experts.partition.balanced import balanced_means, even_prices, least, squared_distances
from tongues.experts.partition.partition import Distances
from tongues.experts.partition.tree import balanced_tree


def on_a_line(places: dict[str, float]) -> Distances:
    return {a: {b: abs(places[a] - places[b]) for b in places} for a in places}


@st.composite
def languages_and_k(draw: st.DrawFn) -> tuple[dict[str, float], int]:
    """Languages at places on a line, all distances different (no ties)."""
    count = draw(st.integers(1, 40))
    steps = draw(st.permutations(range(count)))
    places = {f"l{i:02}": steps[i] + 1e-4 * 1.7 ** (steps[i] / 2) for i in range(count)}
    return places, draw(st.integers(1, count))


def published(distances: Distances, k: int) -> set[frozenset[str]]:
    """The rule as the authors word it, written once more: all clusters pair up every round."""
    clusters = [frozenset([lang]) for lang in distances]
    while len(clusters) > k:
        free, pairs = set(clusters), []
        between = [
            (min(distances[x][y] for x in a for y in b), a, b)
            for i, a in enumerate(clusters)
            for b in clusters[:i]
        ]
        for _, a, b in sorted(between, key=lambda entry: entry[0]):
            if a in free and b in free:
                free -= {a, b}
                pairs.append(a | b)
        clusters = pairs
    return set(clusters)


@settings(max_examples=40)
@given(languages_and_k(), st.randoms(use_true_random=False))
def test_every_cluster_grows_from_its_merges_in_rounds(case, random) -> None:
    places, k = case
    distances = on_a_line(places)
    clusters, merges = balanced_tree(distances, k)
    assert sorted(lang for cluster in clusters for lang in cluster) == sorted(places)
    sizes = {len(cluster) for cluster in clusters}
    assert len(clusters) == k and sizes <= {len(places) // k, math.ceil(len(places) / k)}
    assert len(merges) == len(places) - 1  # on to one cluster
    alive = {frozenset([lang]) for lang in places}
    seen = len(alive) == k
    for number in range(1, merges[-1].round + 1 if merges else 1):
        merged: set[frozenset[str]] = set()
        for merge in (merge for merge in merges if merge.round == number):
            left, right = frozenset(merge.left), frozenset(merge.right)
            assert {left, right} <= alive  # of this round's start: each merges once
            alive -= {left, right}
            merged.add(left | right)
            assert merge.distance == min(distances[a][b] for a in left for b in right)
        alive |= merged
        seen = seen or (len(alive) == k and alive == {frozenset(c) for c in clusters})
    assert seen and alive == {frozenset(places)}
    shuffled = list(places)  # another order of the languages changes only the order
    random.shuffle(shuffled)
    again, _ = balanced_tree(on_a_line({lang: places[lang] for lang in shuffled}), k)
    assert {frozenset(c) for c in clusters} == {frozenset(c) for c in again}
    assert [c[0] for c in again] == sorted((c[0] for c in again), key=shuffled.index)


@given(st.integers(1, 5), st.integers(0, 3), st.integers(0, 2**32))
def test_the_published_rule_where_the_numbers_fit_it(k, doublings, seed) -> None:
    random = Random(seed)  # no ties, which either rule may break in its own way
    names = [f"l{i:02}" for i in range(k * 2**doublings)]
    distances = on_a_line({name: random.random() for name in names})
    found, _ = balanced_tree(distances, k)
    assert {frozenset(c) for c in found} == published(distances, k)


def test_ties_go_by_name_and_not_by_order() -> None:
    def tied(names: str) -> Distances:
        return {a: {b: float(a != b) for b in names} for a in names}

    first, _ = balanced_tree(tied("abcdef"), 3)
    again, _ = balanced_tree(tied("fbdace"), 3)
    assert {frozenset(c) for c in first} == {frozenset(c) for c in again}


def test_a_number_of_parts_that_cannot_be() -> None:
    for k in (0, 3):
        with pytest.raises(UserError, match=f"2 languages cannot fill {k} clusters"):
            balanced_tree(on_a_line({"a": 0, "b": 1}), k)


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
