import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.significance.correlation import correlate


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
