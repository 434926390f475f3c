"""Where runs are started: what is asked for, and what is missing."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tongues.cores import core_count, threads_for
from tongues.errors import UserError
from tongues.launch import Job, open_launcher
from tongues.launch.local import choose_gpus, free_memory

GIB = 2**30


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only folder in which commands are looked for."""
    folder = tmp_path / "commands"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return folder


def stand_in(folder: Path, **commands: str) -> None:
    for name, lines in commands.items():
        path = folder / name.replace("_", "-")
        path.write_text(f"#!/bin/sh\n{lines}\n")
        path.chmod(0o755)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"name": "slum"}, "did you mean `slurm`?"),
        ({"name": "slurm"}, "needs a partition"),
        ({"name": "slurm", "partition": "cpu"}, "no `sbatch` here"),
        ({"name": "local", "partition": "cpu"}, "does not take `--partition`"),
        ({"name": "ray", "time": "1:00:00"}, "leave it out, or add `--launcher slurm`"),
    ],
)
def test_what_a_way_lacks_is_told(commands: Path, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        open_launcher(**asked)
    assert said in str(caught.value)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongues.extras.find_spec", lambda name: None)
    with pytest.raises(UserError, match="`ray` is not installed") as caught:
        open_launcher("ray")
    assert "tongues[cluster]" in caught.value.hint


def test_runs_share_the_cores() -> None:
    cores = core_count()
    assert open_launcher().threads(1) == threads_for(1)
    assert open_launcher().threads(1000) == 1
    assert open_launcher(workers=1).threads(1000) == threads_for(1) <= cores


def test_several_runs_share_a_gpu_as_far_as_its_memory_goes(
    commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert free_memory() == {}
    listed = "0, GPU-a, 80000\n1, GPU-b, 40000\n2, GPU-c, 80000"
    stand_in(commands, nvidia_smi=f"echo '{listed}'")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,GPU-b")
    free = free_memory()
    assert free == {"0": 80_000 * 2**20, "1": 40_000 * 2**20}
    for expected in (["0"], ["0"], ["1"], None):
        chosen = choose_gpus(free, 30 * GIB, 1)
        assert chosen == expected
        for gpu in chosen or []:
            free[gpu] -= 30 * GIB
    assert choose_gpus({"0": 5.0, "1": 9.0, "2": 7.0}, 6.0, 2) == ["1", "2"]
    assert choose_gpus({}, 6.0, 0) == []


def test_a_gpu_that_does_not_tell_its_memory_is_passed_over(commands: Path) -> None:
    stand_in(commands, nvidia_smi="echo '0, GPU-a, [N/A]'; echo '1, GPU-b, 1'")
    assert free_memory() == {"1": 2**20}


def test_every_process_of_a_run_has_a_gpu_of_its_own(commands: Path) -> None:
    stand_in(commands, nvidia_smi="echo '0, GPU-a, 80000'")
    with pytest.raises(UserError, match="2 processes of a job need as many GPUs, not 1"):
        open_launcher(processes=2)
    assert open_launcher(processes=1)


def test_a_run_gets_the_gpu_that_is_empty_when_it_starts(commands: Path, tmp_path: Path) -> None:
    stand_in(commands, nvidia_smi="echo '0, GPU-a, 80000'; echo '1, GPU-b, 79000'")
    launcher = open_launcher(workers=1)
    stand_in(commands, nvidia_smi="echo '0, GPU-a, 9000'; echo '1, GPU-b, 79000'")  # a trial's
    told = ["/bin/sh", "-c", f"echo $CUDA_VISIBLE_DEVICES > {tmp_path / 'gpu'}"]
    job = Job("one", partial(subprocess.call, told), tmp_path, "", threads=1, gpus=1)
    assert launcher.has_room(job)
    launcher.start(job)
    assert launcher.ended(60) == {"one": ""}
    assert (tmp_path / "gpu").read_text().strip() == "1"


STARTS = """
from pathlib import Path
from tongues.launch import Job, open_launcher
try:
    open_launcher().start(Job("one", int, Path(), "", imports=("slow_import",)))
except KeyboardInterrupt:
    print("stopped")
"""


def test_ctrl_c_while_the_fork_server_imports_prints_nothing(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    slow = f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(2)\n"
    (tmp_path / "slow_import.py").write_text(slow)
    (tmp_path / "starts.py").write_text(STARTS)
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "starts.py")],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not begun.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60) == ("stopped\n", "")
