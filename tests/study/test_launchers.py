"""Where runs are started: what is asked for, and what is missing."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tongues.errors import UserError
from tongues.ranks import core_count
from tongues.study import find_launcher
from tongues.study.launchers.gpus import choose_gpus, free_memory

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
        ({"on": "slum"}, "did you mean `slurm`?"),
        ({"on": "slurm"}, "needs a partition"),
        ({"on": "slurm", "partition": "cpu"}, "no `sbatch` here"),
        ({"on": "local", "partition": "cpu"}, "are Slurm's"),
        ({"on": "ray", "limit": "1:00:00"}, "are Slurm's"),
    ],
)
def test_what_a_way_lacks_is_told(commands: Path, asked: dict[str, Any], said: str) -> None:
    if asked["on"] == "slurm":
        pytest.importorskip("submitit", reason="submitit is not installed")
    with pytest.raises(UserError) as caught:
        find_launcher(**asked)
    assert said in str(caught.value)


@pytest.mark.parametrize(("on", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_a_package_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, on: str, package: str
) -> None:
    monkeypatch.setattr(sys.modules["tongues.study.launchers.find"], "find_spec", lambda name: None)
    with pytest.raises(UserError, match=f"`{package}` is not installed") as caught:
        find_launcher(on)
    assert "tongues[cluster]" in caught.value.hint


def test_runs_share_the_cores() -> None:
    cores = core_count()
    assert find_launcher().threads(1) == cores
    assert find_launcher().threads(1000) == 1
    assert find_launcher(workers=1).threads(1000) == cores


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
    with pytest.raises(UserError, match="2 processes of a run take as many GPUs, and here are 1"):
        find_launcher(processes=2)
    assert find_launcher(processes=1)
