"""A spike is told: a window of noise in the training text makes a real one."""

import os
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import MakeRecipe
from tongues.files import read_lines
from tongues.tokens import open_tokens
from tongues.train import RunPlan, derive, run_of_recipe
from tongues.train.run import train
from tongues.train.start import make_mixture

STEPS, SAMPLES, CONTEXT = 110, 4, 64
SPIKES = (81, 105)  # steps whose batch is noise


def plan_of(make_recipe: MakeRecipe, name: str) -> RunPlan:
    settings = (f"train.batch={SAMPLES * CONTEXT} tokens", "train.learning_rate=1e-3")
    recipe = make_recipe(*settings, f"train.budget={STEPS * SAMPLES * CONTEXT} tokens")
    return replace(run_of_recipe(recipe), name=name)


@pytest.fixture(scope="module")
def noisy(tokens: Path, tmp_path_factory: pytest.TempPathFactory, make_recipe: MakeRecipe) -> Path:
    """A workspace whose text holds two batches of nothing but rare pieces."""
    workspace = tmp_path_factory.mktemp("noisy")
    place = shutil.copytree(tokens, workspace / "tokens" / "small")
    plan, prepared = plan_of(make_recipe, "small"), open_tokens(place)
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
    directory = train(plan_of(make_recipe, "warned"), noisy, tell=told.append)
    assert [line.split(":")[0] for line in told] == [f"step {step}" for step in SPIKES]
    assert "was usual" in told[0]
    events = read_lines(directory / "events.jsonl")
    assert [event["step"] for event in events] == list(SPIKES)


def interrupt_after(log: Path, rows: int) -> None:
    """As Ctrl-C, once a log has so many rows."""
    while not log.exists() or log.read_bytes().count(b"\n") < rows:
        time.sleep(0.004)
    os.kill(os.getpid(), signal.SIGINT)
