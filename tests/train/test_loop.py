"""What a spike calls for: a window of noise in the training text makes a real one."""

import os
import shutil
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import MakeRecipe
from tests.train.test_run import digests
from tongues.errors import Stopped, UserError
from tongues.files import read_lines
from tongues.runs import read_run
from tongues.tokens import open_tokens
from tongues.train import RunPlan, derive, run_of_recipe
from tongues.train.run import train
from tongues.train.start import make_mixture

STEPS, SAMPLES, CONTEXT = 200, 4, 64
SPIKES = (131, 171)  # steps whose batch is noise


def plan_of(make_recipe: MakeRecipe, on_spike: str, *overrides: str, name: str) -> RunPlan:
    settings = (
        f"train.on_spike={on_spike}",
        f"train.batch={SAMPLES * CONTEXT} tokens",
        "train.learning_rate=1e-3",
    )
    recipe = make_recipe(*settings, f"train.budget={STEPS * SAMPLES * CONTEXT} tokens", *overrides)
    return replace(run_of_recipe(recipe), name=name)


@pytest.fixture(scope="module")
def noisy(tokens: Path, tmp_path_factory: pytest.TempPathFactory, make_recipe: MakeRecipe) -> Path:
    """A workspace whose text holds two batches of nothing but rare pieces."""
    workspace = tmp_path_factory.mktemp("noisy")
    place = shutil.copytree(tokens, workspace / "tokens" / "small")
    plan, prepared = plan_of(make_recipe, "warn", name="small"), open_tokens(place)
    mixture = make_mixture(plan, derive(plan, prepared.vocabulary_size), prepared)
    batches = [np.arange(SAMPLES) + (step - 1) * SAMPLES for step in SPIKES]
    windows = mixture.locate(np.concatenate(batches))[2]
    text = np.memmap(place / "qaa" / "train.bin", dtype=np.uint16, mode="r+")
    rare = np.argsort(np.bincount(text, minlength=400), kind="stable")[:65].astype(np.uint16)
    for window in windows:
        text[window * CONTEXT :][: CONTEXT + 1] = rare
    text.flush()
    return workspace


@pytest.fixture(scope="module")
def alone(noisy: Path, make_recipe: MakeRecipe) -> tuple[Path, list[str]]:
    """A run that rolled back at the spikes, undisturbed, and what it printed."""
    printed: list[str] = []
    plan = plan_of(make_recipe, "rollback", name="alone")
    return train(plan, noisy, tell=printed.append), printed


def test_a_spike_is_told_and_borne(make_recipe: MakeRecipe, noisy: Path) -> None:
    told: list[str] = []
    directory = train(plan_of(make_recipe, "warn", name="warned"), noisy, tell=told.append)
    assert [line.split(":")[0] for line in told] == [f"step {step}" for step in SPIKES]
    assert "was usual" in told[0]
    events = read_lines(directory / "events.jsonl")
    assert [event["step"] for event in events] == list(SPIKES)


def test_a_run_stops_at_a_spike_with_its_weights_unharmed(
    make_recipe: MakeRecipe, noisy: Path
) -> None:
    with pytest.raises(UserError, match=f"at step {SPIKES[0]}") as caught:
        train(plan_of(make_recipe, "stop", name="ended"), noisy)
    assert caught.value.code == "spike"
    assert caught.value.exit_code == 1
    assert read_run(noisy / "runs/ended").status == "diverged"


def test_a_run_goes_back_and_passes_over_what_made_the_spike(
    noisy: Path, alone: tuple[Path, list[str]]
) -> None:
    directory, told = alone
    every = STEPS // 20
    events = read_lines(directory / "events.jsonl")
    assert len(events) == 2
    first = events[0]
    back_to = (SPIKES[0] - 1) // every * every - every
    assert first == {"step": back_to + 1, "left_out": [back_to, SPIKES[0]]}
    assert [row["step"] for row in read_lines(directory / "metrics.jsonl")] == [
        *range(1, STEPS + 1)
    ]
    last = read_lines(directory / "evals.jsonl")[-2]
    windows = (len(open_tokens(noisy / "tokens/small").train("qaa")) - 1) // CONTEXT
    assert last["epochs_lang"] == pytest.approx(STEPS * SAMPLES / windows)
    assert last["tokens_lang"] == STEPS * SAMPLES * CONTEXT == last["tokens"]
    assert sum("batches are left out" in line for line in told) == 2
    assert not (directory / "anchors").exists()


def test_stopped_and_resumed_a_run_goes_back_to_the_same_place(
    make_recipe: MakeRecipe, noisy: Path, alone: tuple[Path, list[str]]
) -> None:
    # The milestone lies on an anchor's step.
    often = ("train.checkpoint_every=100 seconds", "train.milestones=[60%]")
    plan = plan_of(make_recipe, "rollback", *often, name="stopped")
    directory = noisy / "runs/stopped"
    for rows in (60, 125, 150, 180):
        threading.Thread(target=interrupt_after, args=(directory / "metrics.jsonl", rows)).start()
        with pytest.raises(Stopped):
            train(plan, noisy)
        if rows == 125:  # as if killed, so that it goes on from the milestone
            for place in directory.glob("checkpoints/step-*"):
                shutil.rmtree(place)
    assert digests(train(plan, noisy)) == digests(alone[0])
    assert read_lines(directory / "events.jsonl") == read_lines(alone[0] / "events.jsonl")


def interrupt_after(log: Path, rows: int) -> None:
    """As Ctrl-C, once a log has so many rows."""
    while not log.exists() or log.read_bytes().count(b"\n") < rows:
        time.sleep(0.004)
    os.kill(os.getpid(), signal.SIGINT)
