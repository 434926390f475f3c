import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.train.schedule import evaluation_steps, rate_at


def test_the_rate_rises_for_five_hundredths_and_falls_to_a_tenth() -> None:
    rates = [rate_at(step, 1000, 2e-4, warmup=0.05, final=0.1) for step in range(1000)]
    assert rates[0] == pytest.approx(2e-4 / 50)
    assert max(rates) == rates[49] == rates[50] == 2e-4
    assert rates[-1] == pytest.approx(2e-5)
    assert rates[50:] == sorted(rates[50:], reverse=True)
    assert rates[50 + 949 // 2] == pytest.approx(1.1e-4, rel=1e-2)


@given(st.integers(1, 10**6), st.floats(0, 1), st.floats(0, 1))
def test_the_rate_stays_within_its_bounds(steps: int, warmup: float, final: float) -> None:
    for step in {0, steps // 2, steps - 1}:
        assert 0 < rate_at(step, steps, 1.0, warmup, final) <= 1 or final == 0


@given(st.integers(1, 10**7), st.integers(1, 100))
def test_evaluations_go_from_the_start_to_the_end(steps: int, count: int) -> None:
    points = evaluation_steps(steps, count)
    assert points[0] == 0
    assert points[-1] == steps
    assert points == sorted(set(points))
    assert len(points) <= count + 1
