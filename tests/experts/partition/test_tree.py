import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongues.errors import UserError
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
