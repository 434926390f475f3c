import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.report.statistics import Estimate, by_unit, estimate, estimates, slope


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


def test_groups_share_their_spread():
    # within the groups 1, 3 and 10, 12, 14 the squares are 2 and 8, on 1 + 2 degrees of freedom
    found = estimates({"a": [1, 3], "b": [10, 12, 14], "c": [7], "d": []})
    reach = 3.182 * np.sqrt(10 / 3)
    assert found.keys() == {"a", "b", "c"}
    for key, mean, count in (("a", 2, 2), ("b", 12, 3), ("c", 7, 1)):
        assert (found[key].mean, found[key].pairs) == (mean, count)
        assert found[key].high == pytest.approx(mean + reach / np.sqrt(count), rel=1e-3)
        assert found[key].low == pytest.approx(mean - reach / np.sqrt(count), rel=1e-3)


def test_groups_of_one_each_have_no_interval():
    assert estimates({"a": [1.0], "b": [2.0]})["a"] == Estimate(1.0, None, None, 1)


def test_intervals_of_groups_cover_the_truth_95_times_in_100():
    random = np.random.default_rng(0)
    inside = []
    for row in random.normal(0.0, 2.0, (2000, 5, 2)):
        for truth, one in estimates({i: (row[i] + i).tolist() for i in range(5)}).items():
            assert one.low is not None and one.high is not None
            inside.append(one.low <= truth <= one.high)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.01)


def test_slope_is_that_of_a_regression():
    x, y = np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([1.1, 2.9, 5.2, 6.8, 9.1])
    (expected, _), covariance = np.polyfit(x, y, 1, cov=True)  # scaled by the residuals
    found = slope(list(zip(x.tolist(), y.tolist(), strict=True)))
    assert found and found.low is not None and found.high is not None
    assert found.mean == pytest.approx(expected)
    assert found.high - found.mean == pytest.approx(3.182 * np.sqrt(covariance[0, 0]), rel=1e-3)
    assert found.mean - found.low == pytest.approx(found.high - found.mean)


def test_slope_needs_two_places_and_for_an_interval_three_points():
    assert slope([(1.0, 2.0), (1.0, 3.0)]) is None
    assert slope([(1.0, 2.0), (2.0, 4.0)]) == Estimate(2.0, None, None, 2)


def test_values_of_one_unit_count_once():
    assert by_unit([("a", 1.0), ("b", 5.0), ("a", 3.0)]) == [2.0, 5.0]
