"""Processes that share work: all of it is done, errors travel, and nobody is left behind."""

import multiprocessing
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.core.errors import Stopped, UserError
from tongues.core.launch import run_ranks
from tongues.core.ranks import Rank, Say

ROOT = Path(__file__).parents[2]
PATIENCE = 20.0  # seconds


def run_in(work: Callable[..., None], given: tuple[Any, ...], ranks: int, say: Say) -> None:
    """Share work in a folder of its own."""
    with TemporaryDirectory() as folder:
        run_ranks(work, given, ranks, say, folder=Path(folder))


def tell_share(rank: Rank, tell: Say, pieces: Sequence[str]) -> None:
    for piece in rank.share(pieces):
        tell(f"{piece} in {os.getpid()}")


def wait_for_ever(rank: Rank, tell: Say) -> None:
    tell(str(os.getpid()))
    while True:
        signal.pause()


def fail_first(rank: Rank, tell: Say, error: Exception) -> None:
    if rank.number == 0:
        raise error
    wait_for_ever(rank, tell)


def ended(process: int) -> bool:
    """Whether a process, not of ours, is gone within our patience."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], PATIENCE)[0])
    finally:
        os.close(handle)


@given(st.lists(st.integers()), st.integers(1, 12))
def test_every_piece_is_exactly_one_ranks(pieces: list[int], count: int) -> None:
    shares = [Rank(number, count).share(pieces) for number in range(count)]
    assert sorted(piece for share in shares for piece in share) == sorted(pieces)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_one_rank_works_right_here_and_several_in_processes_of_their_own() -> None:
    told: list[str] = []
    run_in(tell_share, ("ab",), 1, told.append)
    assert told == [f"{piece} in {os.getpid()}" for piece in "ab"]
    told.clear()
    run_in(tell_share, ("abcdefg",), 3, told.append)
    assert sorted(line[0] for line in told) == list("abcdefg")
    processes = {line.rpartition(" ")[2] for line in told}
    assert len(processes) == 3
    assert str(os.getpid()) not in processes


@pytest.mark.parametrize(
    "error",
    [
        UserError("is broken", where="text of de", hint="mend it", code="broken"),
        OSError(28, "No space left on device", "/full"),
    ],
)
def test_an_error_of_a_rank_comes_here_whole_and_ends_the_others(error: Exception) -> None:
    told: list[str] = []
    with pytest.raises(type(error)) as raised:
        run_in(fail_first, (error,), 3, told.append)
    assert str(raised.value) == str(error)
    assert vars(raised.value) == vars(error)
    assert not multiprocessing.active_children()
    assert all(map(ended, map(int, told)))


def test_a_rank_that_is_killed_is_told_and_ends_the_others() -> None:
    told: list[str] = []

    def kill(line: str) -> None:
        told.append(line)
        if len(told) == 3:
            os.kill(int(told[1]), signal.SIGKILL)

    with pytest.raises(UserError, match="of 3: its process was killed by signal 9") as raised:
        run_in(wait_for_ever, (), 3, kill)
    assert "same command again" in raised.value.hint
    assert raised.value.exit_code == 1
    assert all(map(ended, map(int, told)))


def stop_at_once(rank: Rank, say: Say, place: Path) -> None:
    if rank.number == 0:
        with (place / "starts").open("a") as file:
            file.write("x")
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_rank_that_is_stopped_again_and_again_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="rank 1 of 2: it was stopped 3 times"):
        run_in(stop_at_once, (tmp_path,), 2, lambda line: None)
    assert (tmp_path / "starts").read_text() == "xxx"


def test_a_mistake_of_ours_is_not_passed_over() -> None:
    with pytest.raises(UserError, match=r"rank 1 of 2: its process ended with exit code 1"):
        run_in(fail_first, (ZeroDivisionError("ours"),), 2, lambda line: None)


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop_it_stops_its_ranks(asked: signal.Signals) -> None:
    told: list[str] = []
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs
    before = signal.getsignal(asked)

    def ask(line: str) -> None:
        told.append(line)
        if len(told) == 2:
            os.kill(os.getpid(), asked)

    with pytest.raises(Stopped):
        run_in(wait_for_ever, (), 2, ask)
    assert all(map(ended, map(int, told)))
    assert signal.getsignal(asked) == before


def test_who_is_killed_leaves_no_orphans() -> None:
    code = "from tests.launch.test_shares import run_in, wait_for_ever\n"
    code += "run_in(wait_for_ever, (), 2, lambda line: print(line, flush=True))"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        ranks = [int(parent.stdout.readline()) for _ in range(2)]
        parent.kill()
    assert all(map(ended, ranks))
