"""What Slurm is asked for, and what its answers mean, by commands that stand in for Slurm's."""

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MakeRecipe
from tests.golden import cases, golden
from tongues.core.errors import UserError
from tongues.core.launch import Job, Launcher, open_launcher
from tongues.train import run_of_recipe
from tongues.train.task import training_job
from tongues.train.work import open_work

slurm: Any = importlib.import_module("tongues.core.launch.slurm")


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only folder in which commands are looked for: a queue that is empty, and GPUs."""
    folder = tmp_path / "commands"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(slurm, "_LOOK_EVERY", 0.0)
    stand_in(folder, sinfo="echo gpu:8", squeue="exit 0")
    stand_in(folder, sbatch=f'printf "%s\\n" "$@" > {folder}/asked; echo "7;one"')
    return folder


def stand_in(folder: Path, **commands: str) -> None:
    for name, lines in commands.items():
        (folder / name).write_text(f"#!/bin/sh\n{lines}\n")
        (folder / name).chmod(0o755)


@pytest.fixture
def job(make_recipe: MakeRecipe, tmp_path: Path) -> Job:
    plan = run_of_recipe(open_work(make_recipe("train.threads=3")))
    return training_job(plan, tmp_path, threads=1, processes=2, memory=3 * 2**30)


def launch(time: str = "", workers: int | None = None) -> Launcher:
    return open_launcher(f"slurm:partition=long{time and f',time={time}'}", workers=workers)


def test_a_job_asks_for_what_its_run_takes(commands: Path, job: Job) -> None:
    launcher = launch(time="1:30:00", workers=1)
    assert launcher.has_room(job)
    launcher.start(job)
    assert not launcher.has_room(job)
    asked = (commands / "asked").read_text().splitlines()
    for option in ("partition=long", "time=1:30:00", "gpus-per-node=2", "cpus-per-task=6"):
        assert f"--{option}" in asked
    assert "--mem=8G" in asked  # of two processes, with a margin
    assert "--signal=B:TERM@60" in asked


def test_a_job_asks_for_no_time_and_no_gpus_unless_they_are_named(commands: Path, job: Job) -> None:
    launch().start(replace(job, gpus=0))
    asked = (commands / "asked").read_text()
    assert "--time" not in asked and "gpus-per-node" not in asked


def test_a_job_that_can_never_start_is_an_error(commands: Path, job: Job) -> None:
    launcher = launch(time="90-00:00:00")
    launcher.start(job)
    stand_in(commands, squeue="echo 7 one Priority")
    assert launcher.ended(0.0) == {}
    stand_in(commands, squeue="echo 7 one PartitionTimeLimit")
    with pytest.raises(UserError, match=r"does not start job 7 .*PartitionTimeLimit"):
        launcher.ended(0.0)


@pytest.mark.parametrize("answer", cases("ended-jobs"))
def test_the_end_of_a_job_in_words(commands: Path, tmp_path: Path, job: Job, answer: str) -> None:
    launcher = launch()
    launcher.start(job)
    stand_in(commands, squeue="echo 7 small-123456")
    assert launcher.ended(0.0) == {}
    stand_in(commands, squeue="exit 0", scontrol=f"echo {answer}")
    (told,) = launcher.ended(0.0).values()
    golden(f"ended-jobs/{answer}", told.replace(str(tmp_path), "FOLDER") or "(nothing)")


def name_of_job(commands: Path) -> str:
    """Of the one that was submitted last."""
    asked = (commands / "asked").read_text().splitlines()
    (name,) = (line.split("=")[1] for line in asked if line.startswith("--job-name="))
    return name


def test_a_job_that_another_command_queued_is_waited_for_and_left_alone(
    commands: Path, job: Job
) -> None:
    launch().start(job)
    queue = f"echo 5 {name_of_job(commands)}; echo 6"  # one without a name beside it
    launcher = launch()
    stand_in(commands, squeue=queue, sbatch="exit 1", scancel=f"echo > {commands}/cancelled")
    launcher.start(job)
    assert launcher.ended(0.0) == {}
    launcher.stop()
    assert not (commands / "cancelled").exists()
    launcher.start(job)
    stand_in(commands, squeue="exit 0", scontrol="echo JobId=5 JobState=CANCELLED")
    assert launcher.ended(0.0) == {job.name: ""}  # the other command was stopped


def test_a_job_of_other_settings_is_not_waited_for(commands: Path, job: Job) -> None:
    launch().start(job)
    name = name_of_job(commands)
    other = replace(job, fingerprint="0123456789")
    launch().start(other)
    assert name_of_job(commands) != name
    stand_in(commands, squeue=f"echo 5 {name}")
    assert launch().is_left(job) and not launch().is_left(other)
    with pytest.raises(UserError, match="jobs of other settings are at work here"):
        launch().start(replace(other, alone=True))


def test_what_was_submitted_here_is_cancelled_even_where_slurm_does_not_clear_it_away(
    commands: Path, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "_CANCELLED", 0.1)
    launcher = launch()
    launcher.start(job)
    stand_in(commands, squeue="echo 7 stuck", scancel=f'echo "$@" > {commands}/cancelled')
    launcher.stop()
    assert (commands / "cancelled").read_text() == "7\n"


def test_slurm_may_be_silent_for_a_while(
    commands: Path, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = launch()
    stand_in(commands, squeue="echo 'slurm is down' >&2; exit 1")
    launcher.start(job)
    assert not launcher.has_room(job)
    assert launcher.ended(0.0) == {}
    stand_in(commands, squeue="exit 0", scontrol="exit 1")
    assert launcher.ended(0.0) == {job.name: ""}  # submitted after all, and gone
    assert launcher.has_room(job)
    stand_in(commands, squeue="echo 'slurm is down' >&2; exit 1")
    monkeypatch.setattr(slurm, "_PATIENCE", 0.0)
    with pytest.raises(UserError, match="slurm is down"):
        launcher.ended(0.0)
    launcher.stop()


def test_what_slurm_refuses_is_told_unless_jobs_are_queued(commands: Path, job: Job) -> None:
    launcher, more = launch(), replace(job, name="more")
    launcher.start(job)
    taken = (commands / "sbatch").read_text().partition("\n")[2]
    stand_in(commands, sbatch="echo 'too many jobs' >&2; exit 1", squeue="echo 7 first")
    launcher.start(more)
    assert not launcher.has_room(more)
    assert launcher.ended(0.0) == {}
    stand_in(commands, sbatch=taken.replace("7;one", "8;one"), squeue="echo 7 first; echo 8 more")
    assert launcher.ended(0.0) == {}
    assert launcher.has_room(more)
    stand_in(commands, squeue="echo 7 first", scontrol="exit 1")
    assert launcher.ended(0.0) == {more.name: ""}
    stand_in(commands, sbatch="echo 'invalid partition' >&2; exit 1")
    with pytest.raises(UserError, match=r"Slurm refused a job.*invalid partition"):
        launch().start(job)
    stand_in(commands, sinfo="echo 'slurm is down' >&2; exit 1")
    with pytest.raises(UserError, match="slurm is down"):
        launch()
