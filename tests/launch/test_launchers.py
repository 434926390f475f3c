"""Where runs are started: what is asked for, and what is missing."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.golden import cases, golden, inputs
from tongues.core.cores import core_count, threads_for
from tongues.core.errors import UserError
from tongues.core.hardware import VisibleGpu
from tongues.core.launch import Job, open_launcher
from tongues.core.launch.local import choose_gpus, free_memory

GIB = 2**30
TORCH: str = inputs("programs")["TORCH_WITH_GPUS"]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only folder in which commands are looked for."""
    folder = tmp_path / "commands"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return folder


@pytest.fixture
def gpus(commands: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has PyTorch see GPUs with so many MiB free; a text is the error that one answers with."""

    def stand_in(*free: int | str) -> None:
        seen = tuple(VisibleGpu("NVIDIA A100-SXM4-80GB", 80_000 * 2.0**20) for _ in free)
        monkeypatch.setattr("tongues.core.launch.local.visible_gpus", lambda: seen)
        (commands / "torch.py").write_text(TORCH.format(free=free))

    monkeypatch.setenv("PYTHONPATH", str(commands))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # it is written twice in a second
    return stand_in


@pytest.mark.parametrize("asked", cases("refused-launchers"))
@pytest.mark.usefixtures("commands")
def test_what_a_way_lacks_is_told(asked: str) -> None:
    with pytest.raises(UserError) as caught:
        open_launcher(asked)
    golden(f"refused-launchers/{asked}", str(caught.value))


def test_runs_share_the_cores() -> None:
    cores = core_count()
    assert open_launcher().threads(1) == threads_for(1)
    assert open_launcher().threads(1000) == 1
    assert open_launcher(workers=1).threads(1000) == threads_for(1) <= cores


def test_several_runs_share_a_gpu_as_far_as_its_memory_goes(
    gpus: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert free_memory() == {}
    gpus(80_000, 40_000)
    assert free_memory() == {"0": 80_000 * 2**20, "1": 40_000 * 2**20}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,MIG-aaaa")
    free = free_memory()
    assert free == {"3": 80_000 * 2**20, "MIG-aaaa": 40_000 * 2**20}
    for expected in (["3"], ["3"], ["MIG-aaaa"], None):
        chosen = choose_gpus(free, 30 * GIB, 1)
        assert chosen == expected
        for gpu in chosen or []:
            free[gpu] -= 30 * GIB
    assert choose_gpus({"0": 5.0, "1": 9.0, "2": 7.0}, 6.0, 2) == ["1", "2"]
    assert choose_gpus({}, 6.0, 0) == []


def test_a_gpu_that_admits_nobody_is_taken_last(gpus: Callable[..., None]) -> None:
    gpus("all CUDA-capable devices are busy or unavailable", 1)
    assert free_memory() == {"0": 0, "1": 2**20}


def test_every_process_of_a_run_has_a_gpu_of_its_own(gpus: Callable[..., None]) -> None:
    gpus(80_000)
    with pytest.raises(UserError, match="2 processes of a job need as many GPUs, not 1"):
        open_launcher(processes=2)
    assert open_launcher(processes=1)


def test_a_run_gets_the_gpu_that_is_empty_when_it_starts(
    gpus: Callable[..., None], tmp_path: Path
) -> None:
    gpus(80_000, 79_000)
    launcher = open_launcher(workers=1)
    for free, expected in (((9000, 79_000), "1"), ((80_000, 9000), "0")):
        gpus(*free)  # what others left meanwhile
        told = ["/bin/sh", "-c", f"echo $CUDA_VISIBLE_DEVICES > {tmp_path / 'gpu'}"]
        job = Job("one", partial(subprocess.call, told), tmp_path, "", threads=1, gpus=1)
        assert launcher.has_room(job)
        launcher.start(job)
        assert launcher.ended(60) == {"one": ""}
        assert (tmp_path / "gpu").read_text().strip() == expected


def test_work_without_gpus_does_not_ask_for_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[int] = []
    monkeypatch.setattr("tongues.core.launch.local.visible_gpus", lambda: asked.append(1) or ())
    launcher = open_launcher(workers=1)
    assert launcher.has_room(Job("one", int, tmp_path, ""))
    assert not asked
    assert launcher.has_room(Job("one", int, tmp_path, "", gpus=1))
    assert asked


STARTS: str = inputs("programs")["STARTS"]


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
