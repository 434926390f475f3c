"""The stages run by datatrove: the bytes are those of one process, whatever is killed."""

import importlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tongues.errors import UserError
from tongues.recipe import load_recipe
from tongues.tokens import prepare_tokens

missing = "needs the package datatrove: pip install 'tongues[curate]'"
executors: Any = pytest.importorskip("datatrove", reason=missing) and importlib.import_module(
    "tongues.tokens.executors"
)

PATIENCE = 300.0  # seconds


def made(workspace: Path) -> dict[str, bytes]:
    """All that a preparation leaves, by path, but for what the executors note for themselves."""
    return {
        str(path.relative_to(workspace)): path.read_bytes()
        for place in ("corpus", "tokens")
        for path in (workspace / place).rglob("*")
        if path.is_file() and "executors" not in path.parts and not path.name.endswith(".lock")
    }


@pytest.fixture(scope="module")
def expected(recipe_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which one process did it all, undisturbed."""
    workspace = tmp_path_factory.mktemp("expected")
    prepare_tokens(load_recipe(recipe_file), workspace, lambda line: None, ranks=1)
    return workspace


class Command:
    """`tongues prepare` on its way."""

    def __init__(self, recipe: Path, workspace: Path, *options: str) -> None:
        command = [sys.executable, "-m", "tongues", "prepare", str(recipe), "--in", str(workspace)]
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen([*command, *options], text=True, **streams)

    def end(self) -> tuple[int, str]:
        """Its exit code and what it said."""
        _, said = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said

    def wait_for(self, seen: Callable[[], Any]) -> None:
        """Wait until something is to be seen while it runs."""
        deadline = time.monotonic() + PATIENCE
        while not seen():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def ranks(self) -> list[int]:
        """The processes of its ranks: children of its fork server."""
        return [rank for server in children(self.process.pid) for rank in children(server)]


def children(process: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def ended(process: int) -> bool:
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 10.0)[0])
    finally:
        os.close(handle)


def test_ranks_leave_the_bytes_of_one_process(
    recipe_file: Path, expected: Path, tmp_path: Path
) -> None:
    told: list[str] = []
    run = executors.find_runner("local")
    path = prepare_tokens(load_recipe(recipe_file), tmp_path, told.append, ranks=3, run=run)
    assert path == tmp_path / "tokens/small"
    assert made(tmp_path) == made(expected)
    assert any("documents read" in line for line in told)
    assert any("tokens to train on" in line for line in told)
    logs = tmp_path / "corpus/small/executors"
    assert len(list(logs.glob("read/completions/*"))) == 3
    assert len(list(logs.glob("select/completions/*"))) == 1


def test_killed_ranks_and_launchers_change_nothing(
    recipe_file: Path, expected: Path, tmp_path: Path
) -> None:
    logs = tmp_path / "corpus/small/executors"
    first = Command(recipe_file, tmp_path, "--on", "local", "--ranks", "2")
    first.wait_for(lambda: list(logs.glob("read/logs/*")))
    os.kill(first.ranks()[-1], signal.SIGKILL)
    code, said = first.end()
    assert code == 2
    assert "was killed by signal 9" in said
    assert "Traceback" not in said

    second = Command(recipe_file, tmp_path, "--on", "local", "--ranks", "2")
    second.wait_for(lambda: list(logs.glob("encode/logs/*")))
    ranks = second.ranks()
    second.process.kill()
    second.end()
    assert all(map(ended, ranks))

    code, said = Command(recipe_file, tmp_path, "--on", "local", "--ranks", "3").end()
    assert code == 0, said
    assert made(tmp_path) == made(expected)


def test_what_a_rank_refuses_comes_here_in_its_words(
    recipe_file: Path, expected: Path, tmp_path: Path
) -> None:
    shutil.copytree(expected / "corpus", tmp_path / "corpus")
    recipe = load_recipe(recipe_file, ("tokens.held_out=1M tokens",))
    run = executors.find_runner("local")
    with pytest.raises(UserError, match="are too few to hold out") as error:
        prepare_tokens(recipe, tmp_path, lambda line: None, ranks=2, run=run)
    assert error.value.where == "text of qaa"


@pytest.fixture
def no_slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only folder in which commands are looked for, empty."""
    folder = tmp_path / "commands"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def stand_in(folder: Path, **commands: str) -> None:
    for name, lines in commands.items():
        (folder / name).write_text(f"#!/bin/sh\n{lines}\n")
        (folder / name).chmod(0o755)


def test_what_a_way_lacks_is_told(no_slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="needs a partition") as error:
        executors.find_runner("slurm")
    assert "--partition" in error.value.hint
    with pytest.raises(UserError, match="no `sbatch` here"):
        executors.find_runner("slurm", "cpu")
    monkeypatch.setattr(executors, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="Ray is not installed") as error:
        executors.find_runner("ray")
    assert "pip install ray" in error.value.hint
    monkeypatch.setitem(sys.modules, "datatrove.executor", None)
    monkeypatch.delitem(sys.modules, "tongues.tokens.executors")
    with pytest.raises(UserError, match="datatrove is not installed") as error:
        importlib.import_module("tongues.tokens.executors")
    assert "tongues[curate]" in error.value.hint


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--on", "slurm"], "needs `--ranks`"),
        (["--on", "local", "--ranks", "2", "--time", "1:00:00"], "are Slurm's"),
    ],
)
def test_options_that_do_not_fit_are_told(
    recipe_file: Path, tmp_path: Path, options: list[str], says: str
) -> None:
    code, said = Command(recipe_file, tmp_path, *options).end()
    assert code == 2
    assert says in said


def test_what_slurm_refuses_is_told(recipe_file: Path, no_slurm: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    stand_in(no_slurm, squeue="exit 0", scancel="exit 0")
    stand_in(no_slurm, sbatch=f'/bin/cat "$2" > {asked}; exit 1')
    run = executors.find_runner("slurm", "cpu", "1:00:00")
    with pytest.raises(UserError, match="Slurm refused"):
        prepare_tokens(load_recipe(recipe_file), tmp_path, lambda line: None, ranks=9, run=run)
    script = asked.read_text().splitlines()
    for option in ("partition=cpu", "time=1:00:00", "array=0-8", "mem-per-cpu=4G"):
        assert f"#SBATCH --{option}" in script
    assert "#SBATCH --kill-on-invalid-dep=yes" in script


def test_jobs_of_other_settings_are_not_joined(
    recipe_file: Path, no_slurm: Path, tmp_path: Path
) -> None:
    stand_in(no_slurm, squeue="echo small-read-123456 RUNNING", sbatch="exit 1")
    run = executors.find_runner("slurm", "cpu")
    with pytest.raises(UserError, match="of other settings are at work"):
        prepare_tokens(load_recipe(recipe_file), tmp_path, lambda line: None, ranks=9, run=run)


def jobs(states: str = "pending,running,completing") -> list[str]:
    """Our jobs in Slurm's queue."""
    command = ["squeue", "--me", "--array", "--noheader", "--format=%i %j", f"--states={states}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split()[0] for line in done.stdout.splitlines() if " small-" in line]


@pytest.fixture
def partition() -> Iterator[str]:
    if not shutil.which("sinfo"):
        pytest.skip("there is no Slurm here")
    command = ["sinfo", "--noheader", "--format=%R"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("Slurm does not answer")
    assert not jobs()
    yield done.stdout.split()[0]
    for job in jobs():
        subprocess.run(["scancel", job], check=False)


@pytest.mark.slow
def test_on_slurm_whatever_is_killed(
    recipe_file: Path, expected: Path, tmp_path: Path, partition: str
) -> None:
    options = ["--on", "slurm", "--partition", partition, "--ranks"]
    marks = tmp_path / "corpus/small"

    first = Command(recipe_file, tmp_path, *options, "2")
    first.wait_for(lambda: list(marks.glob("*/*/piece.json")) and jobs("running"))
    subprocess.run(["scancel", "--signal=KILL", jobs("running")[0]], check=True)
    code, said = first.end()
    assert (code, jobs()) == (2, [])
    assert "did not come to its end" in said

    second = Command(recipe_file, tmp_path, *options, "3")
    second.wait_for(lambda: jobs("running"))
    second.process.send_signal(signal.SIGINT)
    code, said = second.end()
    assert (code, jobs()) == (130, [])

    third = Command(recipe_file, tmp_path, *options, "2")
    third.wait_for(lambda: jobs("running"))
    third.process.kill()
    third.end()
    assert jobs()
    code, said = Command(recipe_file, tmp_path, *options, "2").end()  # waits for them
    assert code == 0, said
    assert made(tmp_path) == made(expected)


@pytest.mark.slow
def test_on_ray_whatever_is_killed(recipe_file: Path, expected: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    logs = tmp_path / "corpus/small/executors"
    first = Command(recipe_file, tmp_path, "--on", "ray", "--ranks", "2")
    first.wait_for(lambda: list(logs.glob("read/said")))
    first.process.kill()
    first.end()
    code, said = Command(recipe_file, tmp_path, "--on", "ray", "--ranks", "3").end()
    assert code == 0, said
    assert made(tmp_path) == made(expected)
