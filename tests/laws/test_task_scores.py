"""Task scores from losses: intervals in worlds whose truth is known, and where there is none."""

from collections import Counter

import numpy as np
import pytest

from tongues.estimate import Estimate
from tongues.laws.task_scores import TaskLaw, fit_task_law

ITEMS, SCATTER = 500, 0.01


def truth(loss: np.ndarray | float, chance: float, middle: float, width: float) -> np.ndarray:
    return np.asarray(chance + (1 - chance) / (1 + np.exp((np.asarray(loss) - middle) / width)))


def measured(random: np.random.Generator, share: np.ndarray, items: int = ITEMS) -> np.ndarray:
    moved = np.clip(share + SCATTER * random.standard_normal(share.shape), 0, 1)
    return random.binomial(items, moved) / items


def fitted(losses: np.ndarray, scores: np.ndarray, chance: float, items: int = ITEMS) -> TaskLaw:
    errors = np.sqrt(scores * (1 - scores) / items)
    return fit_task_law(losses.tolist(), scores.tolist(), errors.tolist(), chance)


@pytest.mark.parametrize("world", [(0.25, 1.0, 0.15, 0.9), (0.5, 0.9, 0.2, 0.8)])
def test_intervals_hold_what_a_better_run_is_measured_at(world: tuple[float, ...]) -> None:
    chance, middle, width, lower = world
    random, losses = np.random.default_rng(1), np.linspace(1.6, 1.05, 8)
    held = widths = 0.0
    for _ in range(60):
        scores = measured(random, truth(losses, chance, middle, width))
        forecast = fitted(losses, scores, chance).forecast(lower)
        assert forecast.low is not None
        assert forecast.high is not None
        outcome = float(measured(random, truth(np.array([lower]), chance, middle, width))[0])
        held += forecast.low <= outcome <= forecast.high
        widths += (forecast.high - forecast.low) / 60
    assert held >= 54
    assert widths < 0.3


def test_an_uncertain_loss_widens_the_interval() -> None:
    losses = np.linspace(1.6, 1.0, 10)
    law = fitted(losses, truth(losses, 0.25, 1.1, 0.15), 0.25)
    sure, unsure = law.forecast(0.95), law.forecast(Estimate(0.95, 0.75, 1.15))
    assert abs(sure.value - float(truth(0.95, 0.25, 1.1, 0.15))) < 0.03
    widths = [(of.high or 0) - (of.low or 0) for of in (sure, unsure)]
    assert widths[1] > 1.5 * widths[0]
    assert 0 <= (unsure.low or 0) <= (unsure.high or 0) <= 1
    lower = [law.forecast(loss).value for loss in (1.5, 1.2, 1.0, 0.8)]
    assert lower == sorted(lower)


@pytest.mark.parametrize(
    ("level", "reason"), [(0.5, "all runs are at chance"), (0.62, "scores do not follow the loss")]
)
def test_where_scores_do_not_rise_the_reason_is_given(level: float, reason: str) -> None:
    random, losses = np.random.default_rng(2), np.linspace(1.6, 1.0, 8)
    reasons = Counter(
        fitted(losses, random.binomial(300, level, 8) / 300, 0.5, 300).reason for _ in range(60)
    )
    assert reasons[reason] >= 57
    law = fitted(losses, random.binomial(300, level, 8) / 300, 0.5, 300)
    assert law.forecast(0.9).low is None
    assert law.forecast(0.9).reason == law.reason


def test_few_runs_or_one_loss_give_no_law() -> None:
    few = fitted(np.linspace(1.6, 1.0, 4), np.linspace(0.3, 0.8, 4), 0.25)
    assert few.reason.startswith("4 runs were scored on it")
    alike = fitted(np.ones(8), np.linspace(0.3, 0.8, 8), 0.25)
    assert alike.reason.startswith("its runs have one loss")
