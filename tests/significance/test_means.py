from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.core.estimate import Estimate
from tongues.core.significance.correlation import correlate
from tongues.core.significance.means import over_sizes


def estimate(values: Iterable[float]) -> Estimate | None:
    """The mean over seeds of one size, which is the plain one."""
    return over_sizes((("a", seed), value) for seed, value in enumerate(values))


def test_interval_is_the_textbook_one():
    # 1..5: standard deviation 1.5811, t(4) = 2.776, so 3 +- 1.963
    found = estimate([1, 2, 3, 4, 5])
    assert found is not None
    assert (found.value, found.n) == (3, 5)
    assert found.low == pytest.approx(1.037, abs=1e-3)
    assert found.high == pytest.approx(4.963, abs=1e-3)


def test_one_value_has_no_interval_and_none_has_no_mean():
    assert estimate([0.4]) == Estimate(0.4, n=1)
    assert Estimate(0.4, n=1).excludes_zero == 0
    assert estimate([]) is None


def test_sign_is_that_of_an_interval_on_one_side():
    assert Estimate(2.0, 1.0, 3.0, n=4).excludes_zero == 1
    assert Estimate(-2.0, -3.0, -1.0, n=4).excludes_zero == -1
    assert Estimate(0.5, -1.0, 2.0, n=4).excludes_zero == 0


def test_a_mean_over_sizes_has_the_spread_among_seeds():
    # within the sizes 1, 3 and 10, 12, 14 the squares are 2 and 8, on 1 + 2 degrees of freedom
    units = {("a", 1): 1, ("a", 2): 3, ("b", 1): 10, ("b", 2): 12, ("b", 3): 14}
    found = over_sizes(units.items())
    assert found and found.high is not None and found.low is not None
    assert (found.value, found.n) == (7, 5)  # halfway between 2 and 12
    reach = 3.182 * np.sqrt(10 / 3 * (1 / 2 + 1 / 3)) / 2
    assert found.high - found.value == pytest.approx(reach, rel=1e-3)
    assert found.value - found.low == pytest.approx(reach, rel=1e-3)


def test_values_of_one_unit_count_once():
    twice = over_sizes([(("a", 1), 1.0), (("a", 1), 3.0), (("a", 2), 5.0)])
    assert twice == over_sizes([(("a", 1), 2.0), (("a", 2), 5.0)])
    assert over_sizes([(("a", 1), 1.0), (("a", 1), 3.0)]) == Estimate(2.0, n=1)
    assert over_sizes([]) is None


def test_where_seeds_are_too_few_all_units_are_one_spread():
    single = over_sizes([((shape, 1), float(value)) for value, shape in enumerate("abcde", 1)])
    plain = estimate([1, 2, 3, 4, 5])
    assert single
    assert plain
    assert (single.value, single.low, single.high) == pytest.approx(
        (plain.value, plain.low, plain.high), rel=1e-12
    )


@pytest.mark.parametrize(
    ("shapes", "seeds", "least"), [(3, 2, 0.94), (1, 3, 0.94), (5, 2, 0.94), (5, 1, 0.98)]
)
def test_means_over_sizes_that_differ_cover_the_truth(shapes: int, seeds: int, least: float):
    random = np.random.default_rng(shapes)
    inside = []
    for noise in random.normal(0.0, 1.0, (1500, shapes, seeds)):
        found = over_sizes(
            ((str(i), j), float(noise[i, j] + 3 * i)) for i in range(shapes) for j in range(seeds)
        )
        assert found and found.low is not None and found.high is not None
        inside.append(found.low <= 1.5 * (shapes - 1) <= found.high)
    assert np.mean(inside) >= least
    if seeds > 1:
        assert np.mean(inside) == pytest.approx(0.95, abs=0.015)


def test_a_textbook_example() -> None:
    # ranks 1..5 against 2, 1, 4, 3, 5: 1 - 6 · 4 / (5 · 24)
    found = correlate([10, 20, 30, 40, 50], [2, 1, 4, 3, 5])
    assert found == pytest.approx((0.8, 0.1333), abs=1e-4)  # the published table for n = 5


def test_too_few_and_all_alike_say_nothing() -> None:
    assert correlate([1, 2, 3], [1, 2, 3]) is None
    assert correlate([1, 1, 1, 1], [1, 2, 3, 4]) is None


def test_many_values_are_drawn() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=30).tolist()
    same, other = correlate(x, x), correlate(x, random.normal(size=30).tolist())
    assert same is not None
    assert other is not None
    assert same[0] == pytest.approx(1.0)
    assert same[1] < 0.001 < other[1]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=6))
def test_ties_share_their_rank(pairs: list[tuple[int, int]]) -> None:
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    found = correlate(x, y)
    if found is None:
        assert 1 in (len(set(x)), len(set(y)))
        return
    ranks = [[np.flatnonzero(np.sort(of) == value).mean() for value in of] for of in (x, y)]
    assert found[0] == pytest.approx(np.corrcoef(ranks)[0, 1])
    assert 0 < found[1] <= 1
