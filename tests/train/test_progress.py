import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import MakeRecipe
from tests.pretended import pretended_gpu
from tongues.files import read_lines
from tongues.hardware import GPUS
from tongues.runs import read_run
from tongues.train import run_of_recipe
from tongues.train.progress import Meter, Progress, peak_memory
from tongues.train.run import train


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def meter(
    clock: Clock, step: int = 0, steps: int = 1000, seconds: float = 0.0, peak_of: str = ""
) -> Meter:
    return Meter(
        step,
        steps,
        seconds=seconds,
        batch=512,
        flops_per_token=1e5,
        ceiling=1e9,
        memory=lambda: 7,
        peak_of=peak_of,
        clock=clock,
    )


def read(meter: Meter, step: int) -> Progress | None:
    return meter.read(step, loss=3.0, losses={"qaa": 3.1}, rate=1e-3, spikes=0)


def test_speed_utilization_and_time_left_follow_from_the_clock() -> None:
    clock = Clock()
    reader = meter(clock, step=100, seconds=50.0)
    clock.now = 0.5
    assert read(reader, 105) is None
    clock.now = 2.0
    progress = read(reader, 120)
    assert progress is not None
    assert progress.tokens_per_second == 20 * 512 / 2
    assert progress.utilization == 5120 * 1e5 / 1e9
    assert progress.seconds == 52.0
    assert progress.seconds_left == 880 * 2 / 20
    assert progress.timing() == {
        "step": 120,
        "steps": 1000,
        "seconds": 52.0,
        "tokens_per_second": 5120,
        "seconds_left": 88.0,
        "memory": 7,
        "utilization": 0.512,
    }


def test_a_ceiling_that_was_measured_too_low_is_raised() -> None:
    clock = Clock()
    reader = meter(clock)
    reached: list[float | None] = []
    for now, step in ((1.0, 40), (2.0, 60)):  # twice the ceiling, then half as fast
        clock.now = now
        progress = read(reader, step)
        assert progress is not None
        reached.append(progress.utilization)
    assert reached == [1.0, 0.5]


def test_the_peak_that_a_maker_states_is_named_and_never_raised() -> None:
    clock = Clock()
    reader = meter(clock, peak_of="h100")
    clock.now = 1.0
    progress = read(reader, 40)
    assert progress is not None
    assert progress.utilization == 40 * 512 * 1e5 / 1e9 == 2.048
    assert "MFU 205% of h100" in progress.words()
    assert progress.timing()["peak_of"] == "h100"


def test_on_a_known_gpu_mfu_is_by_the_peak_of_its_maker(
    make_recipe: MakeRecipe, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GPUS, "h100", replace(GPUS["h100"], peak=1e9))
    plan = run_of_recipe(
        make_recipe("train.budget=3k tokens", "train.compile=off", "train.num_evals=1")
    )
    with pretended_gpu():
        directory = train(plan, workspace)
    run, last = read_run(directory), list(read_lines(directory / "timing.jsonl"))[-1]
    assert last["peak_of"] == "h100"
    expected = last["tokens_per_second"] * run.flops / run.tokens / 1e9
    assert last["utilization"] == pytest.approx(expected, rel=1e-3)


def test_evaluations_are_left_out_of_the_speed_but_not_of_the_time_left() -> None:
    clock = Clock()
    reader = meter(clock)
    for step in (20, 40):
        clock.now += 2.0
        with reader.pause():
            clock.now += 6.0
        progress = read(reader, step)
        assert progress is not None and progress.tokens_per_second == 20 * 512 / 2
        assert progress.utilization == 5120 * 1e5 / 1e9
        assert progress.seconds == clock.now and progress.seconds_left == (1000 - step) * 8 / 20


def test_the_last_step_is_told_at_once() -> None:
    clock = Clock()
    reader = meter(clock, step=999)
    clock.now = 0.1
    progress = read(reader, 1000)
    assert progress is not None and progress.seconds_left == 0
    assert reader.keeps(progress)


def test_a_long_run_keeps_few_readings() -> None:
    clock = Clock()
    reader, kept = meter(clock, steps=10**9), 0
    for second in range(1, 36_000):
        clock.now = float(second)
        progress = read(reader, second)
        assert progress is not None
        kept += reader.keeps(progress)
    assert 1000 < kept < 5000


def test_the_memory_is_this_process_own_peak() -> None:
    code = (
        "from tongues.train.progress import peak_memory; before = peak_memory('cpu'); "
        "block = b'1' * 100_000_000; del block; print(peak_memory('cpu') - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert 95e6 < int(done.stdout) < 110e6
    assert peak_memory("cpu") < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
