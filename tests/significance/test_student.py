from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.significance.student import critical, two_sided


@pytest.mark.parametrize(
    ("freedom", "value"),
    [
        (1, 12.7062),
        (2, 4.3027),
        (4, 2.7764),
        (10, 2.2281),
        (30, 2.0423),
        (1000, 1.9623),
        (inf, 1.96),
    ],
)
def test_critical_values_are_those_of_the_tables(freedom: float, value: float):
    assert critical(freedom) == pytest.approx(value, abs=5e-5)


@pytest.mark.parametrize(("freedom", "t"), [(1.0, 1.0), (2.0, 3.0)])
def test_one_and_two_degrees_have_closed_forms(freedom: float, t: float):
    closed = {1.0: 0.5, 2.0: 1 - t / (2 + t * t) ** 0.5}[freedom]
    assert two_sided(t, freedom) == pytest.approx(closed, rel=1e-12)


@given(st.floats(1, 1e5), st.floats(1e-6, 0.9))
def test_half_degrees_too_are_undone_by_the_tail(freedom: float, level: float):
    assert two_sided(critical(freedom, level), freedom) == pytest.approx(level, rel=1e-6)


def test_tails_grow_thinner_with_the_degrees():
    tails = [two_sided(2.5, freedom) for freedom in (1, 1.5, 3, 10, 1e4, inf)]
    assert tails == sorted(tails, reverse=True)
    assert two_sided(0.0, 3) == 1.0
    assert two_sided(-2.5, 3) == two_sided(2.5, 3)
    assert two_sided(inf, 3) == 0.0
