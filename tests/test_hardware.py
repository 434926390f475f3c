"""This machine, as training and `check` find it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tongues.hardware import gpu_count, gpu_memory, host_memory, this_machine

ROWS = "0, GPU-a, 81559\\n1, GPU-b, 40960\\n2, GPU-c, [N/A]"


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """Two GPUs, and one whose memory is not known, by a stand-in for `nvidia-smi`."""
    command = tmp_path / "nvidia-smi"
    command.write_text(f'#!/bin/sh\nprintf "{ROWS}\\n"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    gpu_memory.cache_clear()
    yield monkeypatch
    gpu_memory.cache_clear()


def test_without_gpus_it_is_the_processor_with_all_memory(gpus: pytest.MonkeyPatch) -> None:
    gpus.setenv("CUDA_VISIBLE_DEVICES", "")
    assert gpu_count() == 0
    machine = this_machine()
    assert (machine.device, machine.memory, machine.processes) == ("cpu", host_memory(), 1)


@pytest.mark.parametrize(
    ("visible", "count", "mebibytes"),
    [(None, 2, 40960), ("0", 1, 81559), ("GPU-b", 1, 40960), ("1,0", 2, 40960)],
)
def test_with_gpus_it_is_those_that_are_visible(
    gpus: pytest.MonkeyPatch, visible: str | None, count: int, mebibytes: int
) -> None:
    if visible is not None:
        gpus.setenv("CUDA_VISIBLE_DEVICES", visible)
    gpus.setenv("WORLD_SIZE", "2")
    machine = this_machine()
    assert (machine.device, machine.processes) == ("cuda", 2)
    assert machine.memory == mebibytes * 2**20
    assert gpu_count() == count
