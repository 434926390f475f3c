"""Logs of wandb, written by wandb, and logs that are none."""

import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.core.errors import UserError
from tongues.use.imports.log import read_log

STEPS = 400  # more than a block of wandb's file holds

# The names of OLMo-core; nanotron's loss, and torchtitan's, are read in the same way.
NAMES = {
    "loss": "train/CE loss",
    "norm": "optim/total grad norm",
    "lr": "optim/LR (group 0)",
    "held out": "eval/lm/qab/CE loss",
}


def logged(step: int) -> dict[str, float]:
    """What a trainer says of a step."""
    return {"loss": 5 - step / 1000, "norm": 1 + step / 7, "lr": 1e-3 / (1 + step)}


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """wandb's folder of a run that logs as OLMo-core does."""
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    import wandb

    settings = wandb.Settings(silent=True, console="off", disable_git=True)
    run = wandb.init(mode="offline", dir=tmp_path, project="x", settings=settings)
    for step in range(1, STEPS + 1):
        row = {NAMES[key]: value for key, value in logged(step).items()}
        if step % 100 == 0:
            row[NAMES["held out"]] = 4 - step / 1000
        run.log(row, step=step)
    run.finish()
    wandb.teardown()  # else what it read of the environment holds for other tests
    (folder,) = tmp_path.glob("wandb/offline-run-*")
    return folder


def test_offline_runs_of_wandb_come_in_to_the_digit(offline: Path) -> None:
    until = time.monotonic() + 60  # a process of wandb's own writes the end
    while len((log := read_log(offline)).losses) < STEPS and time.monotonic() < until:
        time.sleep(0.2)
    found = {line.step: (line.loss, line.norm, line.learning_rate) for line in log.losses}
    assert found == {step: tuple(logged(step).values()) for step in range(1, STEPS + 1)}
    held_out = [(loss.step, loss.text, loss.loss) for loss in log.held_out]
    assert held_out == [(n, "qab", 4 - n / 1000) for n in range(100, STEPS + 1, 100)]


def test_a_damaged_file_of_wandb_is_an_error(offline: Path) -> None:
    (file,) = offline.glob("*.wandb")
    whole, random_ = file.read_bytes(), random.Random(1)
    for _ in range(20):
        at = random_.randrange(len(whole))
        file.write_bytes(whole[:at] + random_.randbytes(40) + whole[at + 40 :])
        try:
            read_log(offline)
        except UserError:
            continue


@given(st.binary(max_size=300))
def test_any_bytes_as_a_log_are_read_or_refused(data: bytes) -> None:
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"log-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    for name in ("training.jsonl", "trainer_state.json", "run.wandb"):
        for other in folder.iterdir():
            other.unlink()
        (folder / name).write_bytes(data)
        try:
            read_log(folder)
        except UserError:
            continue
