"""Work in several processes of one machine: what they answer, and the time they have to end."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.golden import inputs
from tongues.core.errors import Stopped, UserError
from tongues.core.launch import in_processes

# The second of two processes waits; both take `seconds` to end once they are asked to, as for a
# checkpoint.
SLOW: str = inputs("programs")["SLOW"]


def end_slowly(folder: Path, seconds: float) -> None:
    """Wait for SIGTERM; then leave a file after so many seconds."""
    rank, asked = os.environ["RANK"], []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    (folder / f"{rank}.begun").touch()
    while not asked:
        time.sleep(0.05)
    time.sleep(seconds)
    (folder / f"{rank}.checkpoint").touch()
    raise Stopped("slow stopped at step 1 of 2")


def answer(folder: Path) -> None:
    """Leave the number of this process and of its threads."""
    (folder / os.environ["RANK"]).write_text(os.environ["WORLD_SIZE"])


def fail(kind: str) -> None:
    """End the first or the second process, by an error or by a signal."""
    rank = int(os.environ["RANK"])
    if kind == "both":
        raise UserError("no room", where="here", hint="make some", code="full")
    if kind == "disk" and rank == 1:
        raise OSError(28, "No space left on device", "place")
    if kind == "killed" and rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.5)
    raise UserError("another process of this run ended", code="process_failed")


def test_each_process_does_the_work_and_this_one_is_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before, handler = dict(os.environ), signal.getsignal(signal.SIGTERM)
    in_processes("work", partial(answer, tmp_path), 2)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"0": "2", "1": "2"}
    assert dict(os.environ) == before
    assert signal.getsignal(signal.SIGTERM) == handler


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("both", str(UserError("no room", where="here", hint="make some", code="full"))),
        ("disk", "[Errno 28] No space left on device: 'place'"),
        ("lost", "another process of this run ended (process_failed)"),
        ("killed", "killed by signal 9, as when memory is full"),
    ],
)
def test_what_stopped_them_is_raised_here(kind: str, expected: str) -> None:
    with pytest.raises(OSError if kind == "disk" else UserError) as caught:
        in_processes("work", partial(fail, kind), 2)
    assert expected in str(caught.value)


def stopped_with(folder: Path, seconds: float) -> tuple[set[str], str]:
    """What is left, and said last, by processes that take so long when torchrun gets SIGTERM."""
    command = [sys.executable, "-c", SLOW, str(folder), str(seconds)]
    environment = os.environ | {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "1"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 100
    while len(list(folder.glob("*.begun"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=100)[1]
    return {path.name for path in folder.glob("*.checkpoint")}, said.splitlines()[-1]


@pytest.mark.long
def test_a_checkpoint_may_take_longer_than_torchrun_waits_by_default(tmp_path: Path) -> None:
    left, said = stopped_with(tmp_path, 2.0)
    assert left == {"0.checkpoint", "1.checkpoint"}
    assert said.endswith("Stopped: slow stopped at step 1 of 2")
