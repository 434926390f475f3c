from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tongues.laws.curves import LossCurve
from tongues.laws.forecast import forecast_loss

PUBLISHED = Path(__file__).parents[2] / "../shared/data/published/curves"
STEPS, WARM = 2000, 100
TIMES = np.arange(1, STEPS + 1)


def cosine(steps: int = STEPS) -> np.ndarray:
    times = np.arange(1, steps + 1)
    fall = 0.5 * (1 + np.cos(np.pi * np.clip((times - WARM) / (steps - WARM), 0, 1)))
    return 1e-3 * np.minimum(times / WARM, 1) * (0.1 + 0.9 * fall)


def late_decay(peak: float = 1e-3) -> np.ndarray:
    return peak * np.minimum(TIMES / WARM, 1) * np.clip((STEPS - TIMES + 200) / 600, 0.1, 1)


def true_loss(rates: np.ndarray, floor: float, scale: float, effect: float) -> np.ndarray:
    """By the annealing law with square roots, step by step; the lag has a memory of 100 steps."""
    felt, after = [], False
    for step, rate in enumerate(rates):
        after = after or step + 1 >= WARM
        felt.append(felt[-1] + (rate - felt[-1]) / 100 if after and felt else rates.max())
    progress = np.cumsum(np.sqrt(rates / rates.max()))
    return floor + scale * progress**-0.5 + effect * np.sqrt(np.array(felt) / rates.max())


def curve(
    rates: np.ndarray, floor: float, scale: float, effect: float, params: float = 1e6, seed: int = 0
) -> LossCurve:
    loss = true_loss(rates, floor, scale, effect)
    places = np.arange(10, len(rates) + 1, 10)
    noise = 0.002 * np.random.default_rng(seed).standard_normal(len(places))
    return LossCurve(places.astype(float), loss[places - 1] + noise, rates, params)


PILOT = curve(cosine(), 2.2, 9.0, 0.4, seed=1)
BIGGER = curve(cosine(), 1.9, 9.5, 0.4 * 1.9 / 2.2, seed=2)


def end(run: LossCurve) -> float:
    return float(np.mean(run.losses[-3:]))


def forecast_of(run: LossCurve, *pilots: LossCurve) -> tuple[float, float, float]:
    """The lower end, the value and the upper end."""
    forecast = forecast_loss(run, pilots)
    assert forecast and forecast.low and forecast.high
    return forecast.low, forecast.value, forecast.high


def width(share: float, *pilots: LossCurve) -> float:
    low, value, high = forecast_of(BIGGER.until(share), *pilots)
    return (high - low) / value


def test_a_pilot_shows_what_the_decay_to_come_will_do() -> None:
    for run in (BIGGER, curve(late_decay(), 2.0, 9.0, 0.4, seed=3)):
        low, value, high = forecast_of(run.until(0.3), PILOT)
        assert value == pytest.approx(end(run), rel=0.012)
        assert low < end(run) < high
        now = run.until(0.3).losses[-1]
        assert now - end(run) > 0.1 * now  # much was still to come


def test_without_a_pilot_the_interval_is_wide_and_with_more_of_the_run_it_narrows() -> None:
    assert width(0.3) > 1.5 * width(0.3, PILOT)
    assert width(0.3, PILOT) > 1.3 * width(0.7, PILOT) > 1.5 * width(1.0, PILOT)
    several = [PILOT, curve(late_decay(), 2.2, 9.0, 0.4, seed=5)]
    assert width(0.3, *several) < width(0.3, PILOT)


def test_a_pilot_of_another_size_is_trusted_less() -> None:
    for params in (3e7, 3e4):  # though for the first, the rate's effect is taken to be larger
        assert width(0.3, replace(PILOT, params=params)) > 1.1 * width(0.3, PILOT)


def test_a_pilot_may_be_four_times_as_long_and_a_whole_run_is_forecast_as_it_ended() -> None:
    long = curve(cosine(4 * STEPS), 2.2, 9.0, 0.4, seed=4)
    assert forecast_of(BIGGER.until(0.3), long)[1] == pytest.approx(end(BIGGER), rel=0.012)
    assert forecast_of(BIGGER, PILOT)[1] == pytest.approx(end(BIGGER), rel=0.002)


def test_progress_is_in_tokens_at_the_highest_rate() -> None:
    steady = LossCurve(np.empty(0), np.empty(0), np.full(50, 3e-4), 1e6, batch=512.0)
    assert steady.progress(np.array([0.0, 25.0, 50.0])) == pytest.approx([0, 25 * 512, 50 * 512])
    quarter = replace(steady, rates=np.repeat([4e-4, 1e-4], 25))
    assert quarter.progress(np.array([50.0])) == pytest.approx(37.5 * 512)


def test_nothing_is_forecast_before_losses_follow_a_law() -> None:
    assert forecast_loss(BIGGER.until(0.08), [PILOT]) is None
    assert forecast_loss(BIGGER.until(0.0), [PILOT]) is None
    assert forecast_loss(BIGGER.until(0.1), [PILOT])
    assert forecast_loss(BIGGER.until(0.2), [PILOT.until(0.05)])  # such a pilot counts for nothing
    assert BIGGER.until(0.4).share == pytest.approx(0.4)


def test_during_a_long_warm_up_a_pilot_s_ratio_is_what_is_known() -> None:
    rates = np.concatenate([np.linspace(1e-6, 1e-3, 800), cosine(3200)[100:1300]])
    pilot, run = curve(rates, 2.2, 9.0, 0.4, seed=6), curve(rates, 1.9, 9.5, 0.4, seed=7)
    assert run.warmup == 800 and run.begins >= 800
    early, late = run.until(0.3), run.until(0.7)
    assert forecast_loss(early) is None
    low, value, high = forecast_of(early, pilot)
    assert value == pytest.approx(early.newest * end(pilot) / pilot.until(0.3).newest)
    assert low < end(run) < high
    low, value, high = forecast_of(late, pilot)
    assert low < end(run) < high and value == pytest.approx(end(run), rel=0.02)


def test_what_is_evaluated_is_what_is_forecast() -> None:
    def evaluated(run: LossCurve, gap: float) -> LossCurve:
        at = np.array([400, 800, STEPS])
        return replace(run, heldout_steps=at.astype(float), heldout=run.losses[at // 10 - 1] * gap)

    run, alone = evaluated(BIGGER, 1.04), forecast_of(BIGGER.until(0.5), PILOT)
    for pilots in ((), (evaluated(PILOT, 1.04),)):
        low, value, high = forecast_of(run.until(0.5), *pilots)
        assert low < 1.04 * end(BIGGER) < high
    assert value == pytest.approx(1.04 * alone[1], rel=0.01)


def test_a_late_fall_of_the_rate_acts_with_a_lag() -> None:
    """As felt, against the definitions of both lags, step by step."""
    rates = late_decay()
    run = curve(rates, 2.0, 9.0, 0.4)
    felt = run.felt(np.array([1700.0, 2000.0])) ** 2
    first, memory = WARM - 1, 100.0
    expected, value = {}, 1.0
    for step in range(first + 1, STEPS):
        value = rates[step] / 1e-3 + (value - rates[step] / 1e-3) * np.exp(-1 / memory)
        expected[step + 1] = value
    assert felt[1] == pytest.approx([expected[1700], expected[2000]], abs=0.01)
    falls = -np.diff(rates)
    for place, end_step in enumerate((1700, 2000)):
        steps = np.arange(first + 1, end_step)
        since = np.array([rates[step:end_step].sum() for step in steps])
        response = 1 - (1 + 2.05 * rates[steps] ** -0.645 * since) ** -0.59
        value = 1 - (falls[steps - 1] * response).sum() / 1e-3
        assert felt[5, place] == pytest.approx(value, abs=0.015)
    assert (felt[:, 1] < felt[:, 0]).all() and (felt[:, 0] > rates[1699] / 1e-3).all()


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published curves are not here")
def test_published_curves_from_a_third_of_the_size_up() -> None:
    def read(size: int, name: str) -> LossCurve:
        rows = np.genfromtxt(PUBLISHED / str(size) / f"{name}.csv", delimiter=",", names=True)
        last, kept = int(rows["step"][-1]), rows["step"] > 2160
        knots = np.concatenate([[0, 2160], rows["step"][kept]])
        rates = np.concatenate([[0, rows["lr"][0]], rows["lr"][kept]])
        every = np.interp(np.arange(1, last + 1), knots, rates)
        return LossCurve(rows["step"], rows["loss"], every, size * 1e6)

    errors, inside = [], 0
    pilot = read(25, "cosine_24000")
    for path in sorted(PUBLISHED.glob("100/*.csv")):
        run = read(100, path.stem)
        low, value, high = forecast_of(run.until(0.3), pilot)
        inside += low < run.losses[-1] < high
        errors.append(abs(value / run.losses[-1] - 1))
    assert len(errors) == 9
    assert np.median(errors) < 0.006
    assert inside >= 8
