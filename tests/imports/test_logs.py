"""Logs of wandb, written by wandb, and of NeMo AutoModel's form."""

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tongues
from tests.engines.handed import Handed
from tongues.core.errors import UserError
from tongues.core.files import read_lines
from tongues.runs.record import read_run
from tongues.use.imports.log import read_log

STEPS = 400  # more than a block of wandb's file holds

NAMES: dict[str, dict[str, str]] = {
    "torchtitan": {"loss": "loss_metrics/global_avg_loss", "norm": "grad_norm", "lr": "lr/AdamW"},
    "OLMo-core": {
        "loss": "train/CE loss",
        "norm": "optim/total grad norm",
        "lr": "optim/LR (group 0)",
        "held out": "eval/lm/qab/CE loss",
    },
    "nanotron": {"loss": "lm_loss", "norm": "grad_norm", "lr": "lr"},
}


def logged(step: int) -> dict[str, float]:
    """What a trainer says of a step."""
    return {"loss": 5 - step / 1000, "norm": 1 + step / 7, "lr": 1e-3 / (1 + step)}


@pytest.fixture(params=NAMES)
def offline(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, dict[str, str]]:
    """wandb's folder of a run that logs as one of the trainers does."""
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    import wandb

    names = NAMES[request.param]
    settings = wandb.Settings(silent=True, console="off", disable_git=True)
    run = wandb.init(mode="offline", dir=tmp_path, project="x", settings=settings)
    for step in range(1, STEPS + 1):
        row = {names[key]: value for key, value in logged(step).items()}
        if "held out" in names and step % 100 == 0:
            row[names["held out"]] = 4 - step / 1000
        run.log(row, step=step)
    run.finish()
    wandb.teardown()  # else what it read of the environment holds for other tests
    (folder,) = tmp_path.glob("wandb/offline-run-*")
    return folder, names


def test_offline_runs_of_wandb_come_in_to_the_digit(offline: tuple[Path, dict[str, str]]) -> None:
    folder, names = offline
    until = time.monotonic() + 60  # a process of wandb's own writes the end
    while len((log := read_log(folder)).losses) < STEPS and time.monotonic() < until:
        time.sleep(0.2)
    found = {line.step: (line.loss, line.norm, line.learning_rate) for line in log.losses}
    assert found == {step: tuple(logged(step).values()) for step in range(1, STEPS + 1)}
    held_out = [(loss.step, loss.text, loss.loss) for loss in log.held_out]
    asked = [(n, "qab", 4 - n / 1000) for n in range(100, STEPS + 1, 100)]
    assert held_out == (asked if "held out" in names else [])


def test_a_damaged_file_of_wandb_is_an_error(offline: tuple[Path, dict[str, str]]) -> None:
    folder, _ = offline
    (file,) = folder.glob("*.wandb")
    whole, random_ = file.read_bytes(), random.Random(1)
    for _ in range(20):
        at = random_.randrange(len(whole))
        file.write_bytes(whole[:at] + random_.randbytes(40) + whole[at + 40 :])
        try:
            read_log(folder)
        except UserError:
            continue


def automodel(folder: Path, steps: int) -> Path:
    """A checkpoint folder of AutoModel; its steps are counted from 0."""
    folder.mkdir()

    def rows(**more: Any) -> Iterator[str]:
        for step in range(steps):
            yield json.dumps({"step": step, "epoch": 0, "timestamp": "t"} | more)

    train = [json.loads(row) | {"num_tokens_per_step": 512, "tps": 256.0} for row in rows()]
    train = [row | {"loss": logged(row["step"])["loss"], "lr": 1e-3} for row in train]
    lines = "\n".join(map(json.dumps, train)) + '\n{"step": '  # killed while it wrote
    (folder / "training.jsonl").write_text(lines)
    for lang in ("qaa", "qab"):
        (folder / f"validation_{lang}.jsonl").write_text("\n".join(rows(val_loss=4.25)) + "\n")
    return folder


def test_a_run_of_automodel_is_judged_as_ours(
    handed: Handed,
    tmp_path: Path,
) -> None:
    folder = automodel(tmp_path / "out", 20)
    run = tongues.import_run(
        folder,
        mixture={"qab": 0.9, "qaa": 0.1},
        held_out=handed.over("trainer") / "held_out",
        base=str(handed.over(None)),
        base_languages=["qaa"],
        model=handed.over(None),
        context="64 tokens",
        workspace=tmp_path,
        quiet=True,
    )
    record = read_run(run)
    assert (record.steps, record.batch, record.seconds) == (20, 512, 40.0)
    assert [row["step"] for row in read_lines(run / "metrics.jsonl")] == [*range(1, 21)]
    assert {row["loss"] for row in read_lines(run / "evals.jsonl")} == {4.25}
    assert (run / "model").resolve() == handed.over(None).resolve()


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
