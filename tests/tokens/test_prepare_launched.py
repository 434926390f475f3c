"""The stages wherever they run: the bytes are those of one process, whatever is killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command import run_command
from tests.launch.test_shares import ended
from tongues.core.errors import UserError
from tongues.core.files import fingerprint
from tongues.core.launch import open_launcher
from tongues.recipe import load_recipe
from tongues.text.tokens import prepare_tokens

PATIENCE = 300.0  # seconds


def made(workspace: Path) -> dict[str, bytes]:
    """All that a preparation leaves, by path."""
    return {
        str(path.relative_to(workspace)): path.read_bytes()
        for place in ("corpus", "tokens")
        for path in (workspace / place).rglob("*")
        if path.is_file() and not path.name.endswith(".lock")
    }


@pytest.fixture(scope="module")
def expected(tokens: Path) -> Path:
    """A workspace in which one process did it all, undisturbed."""
    return tokens.parents[1]


class Command:
    """`tongues prepare` on its way."""

    def __init__(self, recipe: Path, workspace: Path, *options: str) -> None:
        command = [sys.executable, "-m", "tongues", "prepare", recipe, "--workspace", workspace]
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


@pytest.mark.long
def test_killed_ranks_and_launchers_change_nothing(
    recipe_file: Path, expected: Path, tmp_path: Path
) -> None:
    left = tmp_path / "corpus/small/ranks"
    first = Command(recipe_file, tmp_path, "--launcher", "local", "--ranks", "2")
    first.wait_for(lambda: left.exists() and first.ranks())
    os.kill(first.ranks()[-1], signal.SIGKILL)
    code, said = first.end()
    assert code == 1
    assert "was killed by signal 9" in said
    assert "Traceback" not in said

    second = Command(recipe_file, tmp_path, "--ranks", "2")
    second.wait_for(lambda: list(left.glob("small-encode-*")))
    ranks = second.ranks()
    second.process.kill()
    second.end()
    assert all(map(ended, ranks))

    code, said = Command(recipe_file, tmp_path, "--ranks", "3").end()
    assert code == 0, said
    assert made(tmp_path) == made(expected)


@pytest.mark.parametrize(
    ("launcher", "says"), [("slurm", "needs `--ranks`"), ("sulrm", "did you mean `slurm`?")]
)
def test_options_that_do_not_fit_are_told(
    recipe_file: Path, tmp_path: Path, launcher: str, says: str
) -> None:
    words = ["prepare", recipe_file, "--workspace", tmp_path, "--launcher", launcher]
    done = run_command(words)
    assert done.returncode == 2
    assert says in done.stderr


def refused_by_slurm(recipe: Path, folder: Path, setting: str, **commands: str) -> str:
    """What is said where Slurm's commands are these shell lines."""
    for name, lines in ({"squeue": "exit 0", "scancel": "exit 0"} | commands).items():
        (folder / name).write_text(f"#!/bin/sh\n{lines}\n")
        (folder / name).chmod(0o755)
    launcher = open_launcher(f"slurm:partition=cpu{setting}")
    with pytest.raises(UserError) as error:
        prepare_tokens(load_recipe(recipe), folder, print, ranks=9, launcher=launcher)
    return error.value.what


def test_what_slurm_refuses_and_jobs_of_other_settings_are_told(
    recipe_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    given = tmp_path / "given"
    submit = f'printf "%s\\n" "$@" > {given}; exit 1'
    said = refused_by_slurm(
        recipe_file, tmp_path, ",time=1:00:00", sbatch=submit, sinfo="echo gpu:1"
    )
    assert "Slurm refused" in said
    options = given.read_text().splitlines()
    for option in ("partition=cpu", "time=1:00:00", "cpus-per-task=1", "mem=4G"):
        assert f"--{option}" in options
    assert not any("gpus" in option for option in options)
    place = fingerprint(str((tmp_path / "corpus/small/ranks").resolve()))[:6]
    queue = f"echo 1 small-read-1-of-9-{place}123456"
    said = refused_by_slurm(
        recipe_file, tmp_path, "", squeue=queue, sbatch="exit 1", sinfo="exit 0"
    )
    assert "of other settings are at work" in said


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
    options = ["--launcher", f"slurm:partition={partition}", "--ranks"]
    marks = tmp_path / "corpus/small"

    first = Command(recipe_file, tmp_path, *options, "2")
    first.wait_for(lambda: list(marks.glob("*/*/source.json")) and jobs("running"))
    kill = ["scancel", "--batch", "--signal=KILL", jobs("running")[0]]
    subprocess.run(kill, check=True)
    code, said = first.end()
    assert (code, jobs()) == (2, [])
    assert "was killed by signal 9" in said

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
