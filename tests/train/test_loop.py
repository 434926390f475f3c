"""A spike is told: a window of noise in the training text makes a real one."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import MakeRecipe
from tests.train.making import plan_of
from tongues.files import read_lines
from tongues.tokens import open_tokens
from tongues.train import derive
from tongues.train.run import train
from tongues.train.start import make_mixture

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
