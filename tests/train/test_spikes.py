import math
import random
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import MakeRecipe
from tests.train.making import plan_of
from tongues.core.files import read_lines
from tongues.text.tokens import open_tokens
from tongues.train import derive
from tongues.train.run import train
from tongues.train.spikes import Recent, judge
from tongues.train.start import make_mixture


def after(steps: int, noise: Callable[[int], float]) -> Recent:
    recent = Recent()
    for step in range(steps):
        recent = recent.followed_by(noise(step), 1.0 + noise(step))
    return recent


def test_nothing_stands_out_before_64_steps_and_a_jump_does_after() -> None:
    chance = random.Random(1)
    recent = after(63, lambda step: chance.gauss(3, 0.1))
    assert judge(recent, 100.0, 4.0) is None
    spike = judge(recent.followed_by(3.0, 4.0), 100.0, 4.0)
    assert spike and spike.what == "loss" and spike.finite
    assert str(spike).startswith("loss 100, where 3")


@given(st.lists(st.floats(0.1, 10), min_size=64, max_size=300), st.floats(0, 100))
def test_the_rule_is_six_deviations_and_a_tenth_above_the_mean_of_the_window(
    values: list[float], value: float
) -> None:
    recent = Recent()
    for before in values:
        recent = recent.followed_by(before, 1.0)
    window = values[-128:]
    mean = statistics.fmean(window)
    bound = max(mean + 6 * statistics.pstdev(window), 1.1 * mean)
    if abs(value - bound) > 1e-6:
        assert (judge(recent, value, 1.0) is not None) == (value > bound)


def test_the_norm_of_the_gradient_is_judged_too() -> None:
    chance = random.Random(2)
    recent = after(128, lambda step: chance.gauss(2, 0.1))
    assert judge(recent, 2.0, 8.5) is None  # more than six deviations, but not thrice the mean of 3
    spike = judge(recent, 2.0, 9.5)
    assert spike and spike.what == "norm of the gradient"


@pytest.mark.parametrize(("loss", "norm"), [(math.nan, 1.0), (3.0, math.inf), (3.0, math.nan)])
def test_what_is_no_number_is_a_spike_at_once_and_not_remembered(loss: float, norm: float) -> None:
    spike = judge(Recent(), loss, norm)
    assert spike and not spike.finite
    assert "no longer a number" in str(spike)
    assert Recent().followed_by(loss, norm) == Recent()


def test_a_learning_curve_with_its_noise_is_no_spike() -> None:
    chance = random.Random(3)
    recent, alarms = Recent(), 0
    for step in range(5000):
        warming = min(step / 200, 1.0)
        loss = 2 + 5 * math.exp(-step / 300) + chance.gauss(0, 0.08)
        norm = (0.3 + 2 * (1 - warming)) * math.exp(chance.gauss(0, 0.25))
        alarms += judge(recent, loss, norm) is not None
        recent = recent.followed_by(loss, norm)
    assert alarms == 0


STEPS, SAMPLES, CONTEXT = 110, 4, 64
SPIKES = (81, 105)  # steps whose batch is noise
SETTINGS = (f"train.batch={SAMPLES * CONTEXT} tokens", "train.learning_rate=1e-3")
SETTINGS += (f"train.budget={STEPS * SAMPLES * CONTEXT} tokens",)


@pytest.fixture(scope="module")
def noisy(tokens: Path, tmp_path_factory: pytest.TempPathFactory, make_recipe: MakeRecipe) -> Path:
    """A workspace whose text holds two batches of nothing but rare pieces."""
    workspace = tmp_path_factory.mktemp("noisy")
    place = shutil.copytree(tokens, workspace / "tokens" / "small")
    plan, prepared = plan_of(make_recipe, *SETTINGS), open_tokens(place)
    mixture = make_mixture(plan, derive(plan, prepared.vocabulary_size), prepared)
    batches = [np.arange(SAMPLES) + (step - 1) * SAMPLES for step in SPIKES]
    windows = mixture.locate(np.concatenate(batches))[2]
    text = np.memmap(place / "qaa" / "train.bin", dtype=np.uint16, mode="r+")
    rare = np.argsort(np.bincount(text, minlength=400), kind="stable")[:65].astype(np.uint16)
    for window in windows:
        text[window * CONTEXT :][: CONTEXT + 1] = rare
    text.flush()
    return workspace


def test_a_spike_is_told_and_borne(make_recipe: MakeRecipe, noisy: Path) -> None:
    told: list[str] = []
    directory = train(plan_of(make_recipe, *SETTINGS), noisy, tell=told.append)
    assert [line.split(":")[0] for line in told] == [f"step {step}" for step in SPIKES]
    assert "was usual" in told[0]
    events = read_lines(directory / "events.jsonl")
    assert [event["step"] for event in events] == list(SPIKES)
