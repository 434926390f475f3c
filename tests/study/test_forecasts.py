from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.records import make_run
from tongues.core.files import append_line
from tongues.runs.record import read_run, write_run
from tongues.runs.states import states, states_table
from tongues.train.study.forecasts import Forecaster, read_loss_curve, with_forecasts

STEPS = 400
SETTINGS = {"budget": "400k tokens", "schedule": "cosine", "warmup": "5%"}
SETTINGS |= {"min_learning_rate": "10%", "mixture": {"qab": "100%"}, "base_languages": []}


def losses(start: float) -> np.ndarray:
    """Of every step: a power of the steps, and the rate's own share of the loss."""
    step = np.arange(1, STEPS + 1)
    rate = 0.55 + 0.45 * np.cos(np.pi * np.clip((step - 20) / 380, 0, 1))
    return start + 6.0 * step**-0.5 + 0.3 * np.sqrt(rate)


def store(folder: Path, name: str, start: float, done: float = 1.0, **about: object) -> Path:
    """A run whose logs end at a share of its steps."""
    directory = folder / name
    directory.mkdir(parents=True)
    status = "finished" if done == 1 else "running"
    record = make_run(run=f"study/{name}", status=status, steps=STEPS, settings=SETTINGS)
    write_run(directory, replace(record, **{"flops": 1e12, **about}))
    loss, noise = losses(start), np.random.default_rng(7).normal(0, 0.01, STEPS)
    for step in range(2, int(done * STEPS) + 1, 2):
        logged = float(np.mean((loss + noise)[step - 2 : step]))
        append_line(directory / "metrics.jsonl", {"step": step, "loss": logged})
    for step in (0, 10, 50, 100, 200, STEPS):
        if step <= done * STEPS:
            held_out = {"step": step, "lang": "qab", "loss": 1.03 * float(loss[max(step, 1) - 1])}
            append_line(directory / "evals.jsonl", held_out)
    append_line(directory / "timing.jsonl", {"step": int(done * STEPS), "seconds": 9.0})
    return directory


def test_an_unfinished_run_is_forecast_by_finished_ones_of_its_role(tmp_path: Path) -> None:
    unfinished = store(tmp_path, "now", 2.0, 0.4)
    alone = Forecaster([tmp_path]).forecast(unfinished)
    store(tmp_path, "of-another-role", 2.0, targets=("qac",))
    also_alone = Forecaster([tmp_path]).forecast(unfinished)
    store(tmp_path, "pilot", 2.2)
    forecast = Forecaster([tmp_path]).forecast(unfinished)
    assert alone and also_alone and forecast
    assert (alone.n, also_alone.n, forecast.n) == (0, 0, 1)
    assert forecast.low and forecast.high and alone.low and alone.high
    assert forecast.low < 1.03 * losses(2.0)[-1] < forecast.high
    assert forecast.high - forecast.low < 0.7 * (alone.high - alone.low)


def test_the_rates_to_come_are_those_of_the_schedule(tmp_path: Path) -> None:
    directory = store(tmp_path, "now", 2.0, 0.4)
    curve = read_loss_curve(directory, read_run(directory))
    assert len(curve.rates) == STEPS
    assert curve.rates[[9, 19, -1]] == pytest.approx([1.5e-3, 3e-3, 3e-4], rel=1e-3)
    assert curve.rates[20 + 190] == pytest.approx(0.55 * 3e-3, rel=0.01)
    assert curve.steps[:2].tolist() == [1.0, 3.0] and curve.steps[-1] == 159
    assert curve.heldout_steps.tolist() == [10, 50, 100]


def test_the_list_of_runs_shows_the_forecast(tmp_path: Path) -> None:
    store(tmp_path, "good", 2.0)
    store(tmp_path, "worse", 2.6, 0.5)
    damaged = store(tmp_path, "damaged", 2.0, 0.5)
    (damaged / "metrics.jsonl").write_text("{\n")
    listed = with_forecasts(states([tmp_path]), [tmp_path])
    by_name = {row["run"].strip(): row for row in states_table(listed)}
    assert by_name["worse"]["state"] == "stopped"
    low, high = by_name["worse"]["forecast at the end"].partition("[")[2].rstrip("]").split(", ")
    assert float(low) < 1.03 * losses(2.6)[-1] < float(high)
    assert by_name["good"]["forecast at the end"] == by_name["damaged"]["forecast at the end"] == ""
