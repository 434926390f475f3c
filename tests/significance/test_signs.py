import pytest

from tongues.significance import Signs, sign_test, signs, win_rates
from tongues.significance.signs import fewest_wins


def test_thirteen_of_sixteen_tell_and_twelve_do_not():
    assert sign_test(13, 3) == pytest.approx(0.021271, abs=1e-6)
    assert sign_test(3, 13) == sign_test(13, 3)
    assert sign_test(12, 4) == pytest.approx(0.076813, abs=1e-6)
    assert sign_test(0, 0) == sign_test(5, 5) == 1.0
    assert [fewest_wins(count) for count in (5, 6, 16)] == [None, 6, 13]
    assert [fewest_wins(count, 3) for count in (6, 7, 16)] == [None, 7, 14]


def test_ties_are_counted_and_left_out():
    own, other = [0.1 + 0.2, 0.5, 0.2, 0.9], [0.3, 0.4, 0.6, 0.1]
    assert signs(own, other) == Signs(2, 1, 1)
    assert signs(own, other, lower_wins=True) == Signs(1, 2, 1)
    assert Signs(6, 0, 10).p == sign_test(6, 0)
    assert Signs(6, 0, 0, among=2).p == 2 * sign_test(6, 0)
    assert Signs(6, 0, 0, translated=True).p is None


def test_win_rates_tell_who_shares_a_best_place():
    found = win_rates({"a": [3, 2, 1, 5], "b": [1, 2, 4, 4], "c": [0, 0, 4, 0]})
    assert {name: (of.alone, of.shared) for name, of in found.items()} == {
        "a": (2, 1),
        "b": (0, 2),
        "c": (0, 1),
    }
    assert found["a"].rate.value == 0.75
    rate = found["a"].rate
    assert rate.low is not None and rate.high is not None
    assert rate.low < 0.75 < rate.high
    assert win_rates({"a": [1.0], "b": [2.0]}, lower_wins=True)["a"].alone == 1
