import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.report.statistics import Estimate, estimate


def test_interval_is_the_textbook_one():
    # 1..5: standard deviation 1.5811, t(4) = 2.776, so 3 +- 1.963
    found = estimate([1, 2, 3, 4, 5])
    assert found is not None
    assert (found.mean, found.pairs) == (3, 5)
    assert found.low == pytest.approx(1.037, abs=1e-3)
    assert found.high == pytest.approx(4.963, abs=1e-3)


@pytest.mark.parametrize("count", [2, 4, 8, 40])
def test_interval_covers_the_truth_95_times_in_100(count: int):
    random = np.random.default_rng(count)
    found = [estimate(row) for row in random.normal(1.0, 2.0, (2000, count)).tolist()]
    inside = [
        e.low <= 1.0 <= e.high for e in found if e and e.low is not None and e.high is not None
    ]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.015)


def test_one_value_has_no_interval_and_none_has_no_mean():
    assert estimate([0.4]) == Estimate(0.4, None, None, 1)
    assert Estimate(0.4, None, None, 1).sign == 0
    assert estimate([]) is None


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40), st.floats(-10, 10))
def test_interval_moves_with_the_values(values: list[float], shift: float):
    here, there = estimate(values), estimate([value + shift for value in values])
    assert here
    assert there
    assert here.low is not None
    assert there.low is not None
    assert there.mean - here.mean == pytest.approx(shift, abs=1e-6)
    assert there.low - here.low == pytest.approx(shift, abs=1e-6)


def test_sign_is_that_of_an_interval_on_one_side():
    assert Estimate(2.0, 1.0, 3.0, 4).sign == 1
    assert Estimate(-2.0, -3.0, -1.0, 4).sign == -1
    assert Estimate(0.5, -1.0, 2.0, 4).sign == 0
