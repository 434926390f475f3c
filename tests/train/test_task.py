"""The process of a run: what it leaves behind however it ends."""

import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.command import run_module
from tests.conftest import MakeRecipe
from tongues.core.files import only_one
from tongues.core.launch import command_line, why_ended
from tongues.runs.record import FAILURE, read_run
from tongues.runs.states import state_of, states
from tongues.train import RunPlan, run_of_recipe
from tongues.train.task import Training, leave_plans, training_job
from tongues.train.work import open_work


@pytest.fixture
def plan(make_recipe: MakeRecipe) -> RunPlan:
    return replace(
        run_of_recipe(open_work(make_recipe("train.budget=2k tokens"))), name="study/run"
    )


@pytest.mark.long
def test_several_processes_train_a_run_by_its_name(plan: RunPlan, workspace: Path) -> None:
    start = command_line(training_job(plan, workspace, threads=2, processes=2))
    subprocess.run(start, check=True, capture_output=True)
    assert state_of(workspace / "runs" / plan.name).state == "finished"


def test_a_queued_run_is_trained_as_it_was_meant(plan: RunPlan, workspace: Path) -> None:
    start = command_line(training_job(plan, workspace, threads=1))
    settings = plan.settings.model_copy(update={"seed": 7})
    edited = replace(plan, settings=settings)
    assert command_line(training_job(edited, workspace, threads=1)) != start
    leave_plans([edited, replace(plan, name="study/other")], workspace)
    done = run_module(start[2], start[3:])  # as `python -m` would
    assert done.returncode == 0, done.stderr
    assert read_run(workspace / "runs" / plan.name).seed == plan.settings.seed


def test_the_runs_of_a_recipe_are_listed_and_no_others(plan: RunPlan, workspace: Path) -> None:
    one, two, three = (replace(plan, name=f"study/{name}") for name in ("one", "two", "three"))

    def listed() -> set[str]:
        return {state.run for state in states([workspace / "runs"])}

    leave_plans([one, two], workspace)
    assert listed() == {one.name, two.name}
    leave_plans([two, three], workspace)
    assert listed() == {two.name, three.name}


def test_a_failure_leaves_its_reason(plan: RunPlan, workspace: Path) -> None:
    elsewhere = replace(plan, tokens="nowhere")
    assert Training(elsewhere, workspace, threads=1)() == 1
    failure = workspace / "runs" / plan.name / FAILURE
    assert failure.read_text() == "there are no prepared tokens"
    assert Training(plan, workspace, threads=1)() == 0
    assert not failure.exists()


def test_a_run_in_other_hands_is_left_to_them(plan: RunPlan, workspace: Path) -> None:
    directory = workspace / "runs" / plan.name
    with only_one(directory):
        assert Training(plan, workspace, threads=1)() == 0
    assert not directory.exists()


def test_a_reason_that_the_disk_does_not_take_is_told_by_the_exit_code(
    plan: RunPlan, workspace: Path
) -> None:
    place = workspace / "runs" / plan.name
    place.parent.mkdir(parents=True)
    place.write_text("in the way")
    code = Training(replace(plan, tokens="nowhere"), workspace, threads=1)()
    assert "disk did not take the reason" in why_ended(code)


@pytest.mark.long
@pytest.mark.parametrize("of_torchrun", [False, True])
def test_a_run_does_not_outlive_what_started_it(
    plan: RunPlan, workspace: Path, of_torchrun: bool
) -> None:
    budget = plan.settings.model_validate({"budget": "2M tokens"}).budget
    plan = replace(plan, settings=plan.settings.model_copy(update={"budget": budget}))
    start = command_line(training_job(plan, workspace, threads=1))
    script = f"import subprocess; print(subprocess.Popen({start!r}).pid, flush=True); input()"
    starter = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        env={**os.environ, "RANK": "0"} if of_torchrun else None,
    )
    assert starter.stdout
    run = os.pidfd_open(int(starter.stdout.readline()))
    deadline = time.monotonic() + 60
    while not (workspace / "runs" / plan.name / "timing.jsonl").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    starter.kill()
    starter.communicate()
    assert select.select([run], [], [], 30.0)[0]
    os.close(run)
    state = state_of(workspace / "runs" / plan.name)
    assert (state.state, state.step) != ("stopped", 0)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (0, ""),
        (-signal.SIGTERM, ""),
        (-signal.SIGKILL, "its process was killed by signal 9, as when memory is full"),
        (-signal.SIGSEGV, "its process was killed by signal 11 (Segmentation fault)"),
        (3, "its process ended with exit code 3"),
    ],
)
def test_the_end_of_a_process_in_words(code: int, said: str) -> None:
    assert why_ended(code) == said
