from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.recipe import Train
from tongues.train.optimizer import OPTIMIZERS
from tongues.train.schedule import SCHEDULES, evaluation_steps, rate_at

SHARES = st.floats(0, 1)


def settings_of(**settings: Any) -> Train:
    return Train.model_validate({"budget": "1M tokens"} | settings)


def rates_of(steps: int, peak: float = 1.0, **settings: Any) -> list[float]:
    train = settings_of(**settings)
    return [rate_at(step, steps, peak, train) for step in range(steps)]


def test_the_cosine_rises_for_five_hundredths_and_falls_to_a_tenth() -> None:
    rates = rates_of(1000, 2e-4)
    assert rates[0] == pytest.approx(2e-4 / 50)
    assert max(rates) == rates[49] == rates[50] == 2e-4
    assert rates[-1] == pytest.approx(2e-5)
    assert rates[50:] == sorted(rates[50:], reverse=True)
    assert rates[50 + 949 // 2] == pytest.approx(1.1e-4, rel=1e-2)


def test_the_linear_schedule_falls_by_equal_steps() -> None:
    rates = rates_of(1000, schedule="linear")
    falls = [a - b for a, b in pairwise(rates[50:])]
    assert falls == pytest.approx([0.9 / 949] * 949)
    assert rates[-1] == pytest.approx(0.1)


def test_wsd_keeps_its_peak_until_the_decay_falls_in_a_line() -> None:
    rates = rates_of(1000, schedule={"name": "wsd", "decay": "20%"}, min_learning_rate=0.0)
    assert rates[49:800] == [1.0] * 751
    assert rates[899] == pytest.approx(0.5)
    assert rates[-1] == 0


def test_wsd_without_decay_branches_off_the_same_run_whatever_its_length() -> None:
    short, long = (rates_of(steps, schedule="wsd", warmup=50 / steps) for steps in (500, 1000))
    assert short[:399] == long[:399]


def test_without_a_warm_up_the_first_step_has_the_peak() -> None:
    assert rates_of(10, schedule="wsd", warmup=0.0)[0] == 1.0


FINAL = st.just(0.0) | st.floats(0.005, 1.0)  # a positive share below is refused


@given(st.integers(1, 10**6), st.sampled_from(SCHEDULES.names()), SHARES, SHARES, FINAL)
def test_the_rate_stays_within_its_bounds_and_falls_after_the_warm_up(
    steps: int, schedule: str, warmup: float, decay: float, final: float
) -> None:
    stages = max(1.0, warmup + decay)
    warmup, decay = warmup / stages, decay / stages
    own = {"decay": decay} if schedule == "wsd" else {}
    train = settings_of(schedule={"name": schedule, **own}, warmup=warmup, min_learning_rate=final)
    warm = max(1, round(warmup * steps))
    points = sorted({min(steps - 1, warm - 1 + round(steps * i / 20)) for i in range(21)})
    rates = [rate_at(step, steps, 1.0, train) for step in points]
    assert all(final - 1e-12 <= rate <= 1 for rate in rates)
    assert all(after <= before + 1e-12 for before, after in pairwise(rates))
    assert rates[0] == 1
    falls_to_the_end = schedule in ("cosine", "linear") or round(decay * steps) > 0
    if steps - 1 > warm and falls_to_the_end:
        assert rates[-1] == pytest.approx(final)


@given(st.integers(1, 10**7), st.integers(1, 100))
def test_evaluations_go_from_the_start_to_the_end(steps: int, count: int) -> None:
    points = evaluation_steps(steps, count)
    assert points[0] == 0
    assert points[-1] == steps
    assert points == sorted(set(points))
    assert len(points) <= count + 1


def test_the_page_explains_every_schedule_and_optimizer() -> None:
    page = (Path(__file__).parents[2] / "docs/explanation/schedules.md").read_text()
    for kind in (*SCHEDULES, *OPTIMIZERS):
        assert f"| `{kind.name}` | {kind.summary} |" in page
        assert all(f"| `{setting}` |" in page for setting in kind.model_fields)
