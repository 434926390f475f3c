import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.golden import inputs
from tongues.core.errors import UserError
from tongues.train.engine.processes import Processes, join_processes

Two = tuple[Path, list[dict[str, Any]]]

# A torchrun that started one of two processes, which waits for the other.
WAITING: str = inputs("programs")["WAITING"]
# One of two processes: the first has work that takes longer than a step may, then the other hangs.
HANGING: str = inputs("programs")["HANGING"]


def test_alone_nothing_is_exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    processes = join_processes("cpu")
    assert processes == Processes()
    assert processes.first
    assert processes.sum([1.5, 2.0]) == [1.5, 2.0]
    assert processes.any(True)
    assert processes.once(lambda: 7) == 7
    assert list(processes.share("abc")) == ["a", "b", "c"]


def test_two_add_up_and_agree(two: Two) -> None:
    first, second = two[1]
    assert first["sum"] == second["sum"] == [3.0, 0.2]
    assert first["any"] == second["any"] == [True, False]
    assert (first["share"], second["share"]) == ([0, 2, 4], [1, 3])


def test_what_the_first_does_alone_reaches_all_and_so_does_its_refusal(two: Two) -> None:
    refusal = str(UserError("no room", where="here", hint="make some", code="full"))
    for found in two[1]:
        assert found["once"] == {"rank": 0, "text": "π"}
        assert found["refusal"] == refusal


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "LOCAL_RANK": "0", "RANK": "0"}
    given["MASTER_ADDR"] = "localhost"
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    with pytest.raises(UserError, match="2 processes on a machine of 1 GPUs"):
        join_processes("cuda")


def test_no_process_outlives_its_torchrun() -> None:
    torchrun = subprocess.Popen([sys.executable, "-c", WAITING], stdout=subprocess.PIPE, text=True)
    assert torchrun.stdout
    process = int(torchrun.stdout.readline())
    assert Path(f"/proc/{process}").exists()
    torchrun.send_signal(signal.SIGKILL)
    torchrun.wait()
    deadline = time.monotonic() + 10
    while _runs(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(process)


@pytest.mark.long
def test_one_that_hangs_in_a_step_is_noticed_and_one_that_works_alone_is_waited_for() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    shared |= {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    first, second = (
        subprocess.Popen(
            [sys.executable, "-c", HANGING],
            env=os.environ | shared | {"RANK": rank, "LOCAL_RANK": rank},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in "01"
    )
    try:
        lines = first.communicate(timeout=100)[0].splitlines()
    finally:
        for process in (first, second):
            process.kill()
    assert lines == [
        "waited",
        "here: another process of this run does not answer (process_failed) soon",
    ]
    assert second.communicate()[0] == "waited\n"


def _runs(process: int) -> bool:
    """Whether a process is there and not only waits for somebody to take note of its end."""
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
