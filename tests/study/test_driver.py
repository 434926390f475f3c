"""What becomes of a study's runs whatever happens to them, and in which order they start."""

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import MakeRecipe
from tests.golden import inputs
from tongues.core.errors import Stopped, UserError
from tongues.core.files import is_held, only_one
from tongues.core.hardware import GPUS, Machine
from tongues.core.launch import Job, Launcher, Options
from tongues.core.quantities import Budget
from tongues.models import find_shape
from tongues.recipe import Train
from tongues.runs.record import FAILURE
from tongues.runs.states import RunState, state_of, states, states_table
from tongues.train import RunPlan
from tongues.train.study import State, plan_runs, run_all
from tongues.train.work import open_work

STUDY: list[str] = inputs("overrides")["driven study"]
SOURCE, SCRATCH, CPT = (
    f"small/{name}" for name in ("qaa-source-0.1M-s1", "qab-scratch-0.1M-s1", "qab-cpt-0.1M-s1")
)


@pytest.fixture
def plans(make_recipe: MakeRecipe) -> list[RunPlan]:
    return plan_runs(open_work(make_recipe(*STUDY)))


def changed(plans: list[RunPlan], run: str, **settings: object) -> list[RunPlan]:
    """The plans with other settings of one run."""
    return [
        replace(plan, settings=plan.settings.model_copy(update=settings))
        if plan.name == run
        else plan
        for plan in plans
    ]


def budget(tokens: int) -> Budget:
    return Train.model_validate({"budget": f"{tokens} tokens"}).budget


def long(plans: list[RunPlan], run: str) -> list[RunPlan]:
    """The plans with so much to do for one run that it can be caught at it."""
    return changed(plans, run, budget=budget(100_000))


def once(run: str, act: Callable[[int], None]) -> Callable[[State], None]:
    """Does something to the process of a run as soon as that has done some steps."""
    acted: list[str] = []

    def watch(state: State) -> None:
        if state.running.get(run, 0) > 0 and not acted:
            acted.append(run)
            (process,) = (p for p in multiprocessing.active_children() if p.name == run)
            assert process.pid
            act(process.pid)

    return watch


def found(workspace: Path) -> dict[str, RunState]:
    return {state.run: state for state in states([workspace / "runs"])}


class Recorded(Launcher):
    """A launcher that starts nothing; asked what has ended, it does not say, but raises."""

    def __init__(
        self, room: int, raises: type[BaseException] = KeyboardInterrupt, lasting: bool = False
    ) -> None:
        super().__init__(Options())
        self.room, self.raises, self.lasting = room, raises, lasting
        self.started, self.stopped, self.memory = [], False, 0

    def threads(self, jobs: int) -> int:
        return 1

    def has_room(self, job: Job) -> bool:
        return len(self.started) < self.room

    def start(self, job: Job) -> None:
        self.started.append(job.name)
        self.memory = job.memory

    def ended(self, seconds: float) -> dict[str, str]:
        raise self.raises

    def stop(self) -> None:
        self.stopped = True


def test_what_a_run_did_counts_while_its_process_begins_or_ends(
    plans: list[RunPlan], workspace: Path
) -> None:
    log = workspace / "runs" / SOURCE / "timing.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text('{"step": 5, "steps": 10}\n')
    seen: list[State] = []
    with pytest.raises(Stopped):
        run_all(plans, workspace, launcher=Recorded(room=1), watch=seen.append)
    assert seen[0].queued == 1 and seen[0].share == pytest.approx(0.5 / 3, rel=0.1)


def test_the_longest_chain_of_work_starts_first(plans: list[RunPlan], workspace: Path) -> None:
    longer = changed(plans, SCRATCH, budget=budget(6_000))
    launcher = Recorded(room=1)
    with pytest.raises(Stopped, match="0 of 3 runs finished"):
        run_all(longer[::-1], workspace, launcher=launcher)
    assert launcher.started == [SOURCE]  # 4k tokens, and 4k of the run behind it
    launcher = Recorded(room=9)
    with pytest.raises(Stopped):
        run_all(longer[::-1], workspace, launcher=launcher)
    assert launcher.started == [SOURCE, SCRATCH]  # the third waits for the first


def test_the_memory_of_processes_that_share_a_model_is_not_that_of_as_many_models(
    plans: list[RunPlan], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus = Machine.of_gpus(GPUS["h100"], 1)
    monkeypatch.setattr(sys.modules["tongues.train.study.driver"], "this_machine", lambda: gpus)
    taken: list[int] = []
    for processes in (1, 4):
        launcher = Recorded(room=1)
        launcher.processes = processes
        with pytest.raises(Stopped):
            run_all(
                changed(plans, SOURCE, batch=65536, budget=budget(65536)),
                workspace,
                launcher=launcher,
            )
        taken.append(launcher.memory - processes * 1_000_000_000)  # what CUDA takes of each
    assert taken[1] < 2.5 * taken[0]


@pytest.mark.parametrize(
    ("raises", "lasting", "stopped"),
    [(KeyboardInterrupt, True, True), (OSError, True, False), (OSError, False, True)],
)
def test_an_error_does_not_cancel_what_lasts(
    plans: list[RunPlan],
    workspace: Path,
    raises: type[BaseException],
    lasting: bool,
    stopped: bool,
) -> None:
    launcher = Recorded(1, raises, lasting)
    with pytest.raises((Stopped, OSError)):
        run_all(plans, workspace, launcher=launcher)
    assert launcher.stopped == stopped


def test_nothing_to_train_is_done_at_once(workspace: Path) -> None:
    run_all([], workspace)


def test_a_run_that_is_started_again_forgets_why_it_failed(
    plans: list[RunPlan], workspace: Path
) -> None:
    failure = workspace / "runs" / SOURCE / FAILURE
    failure.parent.mkdir(parents=True)
    failure.write_text("an old reason")
    with pytest.raises(Stopped):
        run_all(plans, workspace, launcher=Recorded(room=9))
    assert not failure.exists()


def test_runs_not_begun_are_listed_as_waiting(plans: list[RunPlan], workspace: Path) -> None:
    with pytest.raises(Stopped):
        run_all(plans, workspace, launcher=Recorded(room=0))
    assert [state.state for state in found(workspace).values()] == ["waiting"] * 3
    rows = states_table(list(found(workspace).values()))
    assert [row["state"] for row in rows] == ["", *["waiting"] * 3]


def test_a_run_that_diverges_fails_and_the_rest_goes_on(
    plans: list[RunPlan], workspace: Path
) -> None:
    told: list[str] = []
    seen: list[State] = []
    absurd = changed(plans, SOURCE, learning_rate=1e30)
    with pytest.raises(UserError, match="1 of 3 runs failed, and 1 that continue") as caught:
        run_all(absurd, workspace, tell=told.append, watch=seen.append)
    assert caught.value.where == SOURCE
    assert "at step" in caught.value.what
    assert any(line.startswith(f"{SOURCE} failed: at step") for line in told)
    assert (seen[-1].failed.keys(), seen[-1].blocked, seen[-1].finished) == ({SOURCE}, 1, 1)
    assert "at step" in seen[-1].failed[SOURCE]
    listed = found(workspace)
    assert listed[SOURCE].state == "failed" and "at step" in listed[SOURCE].reason
    assert listed[SCRATCH].state == "finished"
    assert listed[CPT].state == "waiting" and SOURCE in listed[CPT].reason
    run_all(plans, workspace, overwrite=True)
    assert {state.state for state in found(workspace).values()} == {"finished"}


@pytest.mark.long
def test_a_run_that_is_killed_tells_so_and_goes_on_with_the_next_command(
    plans: list[RunPlan], workspace: Path
) -> None:
    plans = long(plans, SOURCE)
    with pytest.raises(UserError, match="killed by signal 9, as when memory is full"):
        run_all(plans, workspace, watch=once(SOURCE, lambda pid: os.kill(pid, signal.SIGKILL)))
    failed = state_of(workspace / "runs" / SOURCE)
    assert (failed.state, "signal 9" in failed.reason) == ("failed", True)
    assert found(workspace)[SCRATCH].state == "finished"
    run_all(plans, workspace)
    assert {state.state for state in found(workspace).values()} == {"finished"}
    assert not (workspace / "runs" / SOURCE / FAILURE).exists()


def test_a_run_that_gets_no_more_memory_tells_so(plans: list[RunPlan], workspace: Path) -> None:
    starved: list[int] = []

    def watch(state: State) -> None:
        if SCRATCH in state.running and not starved:
            (process,) = (p for p in multiprocessing.active_children() if p.name == SCRATCH)
            assert process.pid
            starved.append(process.pid)
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + 2**25
            resource.prlimit(process.pid, resource.RLIMIT_AS, (limit, limit))

    large = [replace(plan, shape=find_shape("22M")) for plan in plans if plan.name == SCRATCH]
    plans = [*changed(large, SCRATCH, budget=budget(1_000)), plans[0]]
    with pytest.raises(UserError, match="1 of 2 runs failed; the first: out of memory"):
        run_all(plans, workspace, watch=watch)
    listed = found(workspace)
    assert (listed[SCRATCH].state, listed[SOURCE].state) == ("failed", "finished")
    assert listed[SCRATCH].reason.startswith("out of memory")
    run_all(plans, workspace)
    assert found(workspace)[SCRATCH].state == "finished"


@pytest.mark.long
def test_a_run_that_is_asked_to_stop_is_started_again(
    plans: list[RunPlan], workspace: Path
) -> None:
    plans = [plan for plan in long(plans, SCRATCH) if plan.name == SCRATCH]
    watch = once(SCRATCH, lambda pid: os.kill(pid, signal.SIGTERM))
    run_all(plans, workspace, watch=watch)
    assert found(workspace)[SCRATCH].state == "finished"


@pytest.fixture
def small_disk(workspace: Path) -> Iterator[Path]:
    """A workspace on a disk of its own, which has room for logs and for no model."""
    disk = workspace / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can make a small disk")
    (disk / "tokens").symlink_to(workspace / "tokens", target_is_directory=True)
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_named_and_the_same_command_mends_it(
    plans: list[RunPlan], small_disk: Path
) -> None:
    plans = [plan for plan in plans if plan.name != SCRATCH]
    with pytest.raises(UserError, match="No space left on device"):
        run_all(plans, small_disk)
    listed = found(small_disk)
    assert listed[SOURCE].state == "failed" and "No space left" in listed[SOURCE].reason
    assert listed[CPT].state == "waiting"
    subprocess.run(["mount", "-o", "remount,size=50m", str(small_disk)], check=True)
    run_all(plans, small_disk)
    assert {state.state for state in found(small_disk).values()} == {"finished"}


def test_a_run_in_other_hands_is_waited_for(plans: list[RunPlan], workspace: Path) -> None:
    plans = [plan for plan in plans if plan.name == SCRATCH]
    told: list[str] = []
    with ExitStack() as other:
        other.enter_context(only_one(workspace / "runs" / SCRATCH))
        seen: list[State] = []

        def watch(state: State) -> None:
            seen.append(state)
            if len(seen) == 2:
                other.close()

        run_all(plans, workspace, watch=watch, tell=told.append)
    assert told == [f"{SCRATCH} is trained by another command; it is waited for"]
    assert seen[-1].finished == 1


def test_two_commands_share_a_study(plans: list[RunPlan], workspace: Path) -> None:
    ended: list[str] = []

    def command() -> None:
        run_all(plans, workspace)
        ended.append("well")

    other = threading.Thread(target=command)
    run_all(plans, workspace, watch=lambda state: None if other.ident else other.start())
    other.join()
    assert ended == ["well"]
    assert {state.state for state in found(workspace).values()} == {"finished"}
    assert not any(is_held(workspace / "runs" / plan.name) for plan in plans)
