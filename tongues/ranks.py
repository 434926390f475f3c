"""The same work in several processes at once: each rank does its share of a list of pieces.

A piece is a pure function of its input and leaves its own output and a mark when it is whole, so
neither the number of ranks nor a kill changes a byte: what has no mark is done again.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any, TypeVar

from tongues.errors import Stopped, UserError

__all__ = [
    "Rank",
    "Tell",
    "core_count",
    "main_left_alone",
    "run_ranks",
    "stop_after",
    "stop_on_sigterm",
    "stop_with_parent",
]

Tell = Callable[[str], None]
Piece = TypeVar("Piece")


@dataclass(frozen=True, slots=True)
class Rank:
    """One of `count` processes that share a list of pieces."""

    number: int
    count: int

    def share(self, pieces: Sequence[Piece]) -> Sequence[Piece]:
        """The pieces that are this rank's."""
        return pieces[self.number :: self.count]


def core_count() -> int:
    """The processor's cores that this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def main_left_alone() -> Iterator[None]:
    """Processes that are started meanwhile do not import this one's `__main__`.

    Or a script without `if __name__ == "__main__":` would begin anew in each of them.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def run_ranks(
    work: Callable[..., None], arguments: tuple[Any, ...], ranks: int, tell: Tell
) -> None:
    """Call `work(rank, tell, *arguments)` for every rank: one here, several in own processes.

    The first error of a rank stops the others and is raised here. A rank that is killed is named;
    the same call then does what is missing.
    """
    if ranks == 1:
        work(Rank(0, 1), tell, *arguments)
        return
    # Children forked from a server that holds the work's imports start at once.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core a rank
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([work.__module__])
    before = stop_on_sigterm()
    running: dict[Connection, Any] = {}
    try:
        for number in range(ranks):
            ours, theirs = context.Pipe(duplex=False)
            given = (work, Rank(number, ranks), theirs, arguments)
            running[ours] = context.Process(
                target=_run, args=given, name=f"rank {number + 1} of {ranks}"
            )
            with main_left_alone():
                running[ours].start()
            theirs.close()
        while running:
            for pipe in connection.wait(list(running), timeout=1.0):
                assert isinstance(pipe, Connection)
                _hear(pipe, running, tell)
    except KeyboardInterrupt:
        raise Stopped("stopped") from None
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.join()


def _hear(pipe: Connection, running: dict[Connection, Any], tell: Tell) -> None:
    """Pass on what a rank says: a line, its error, or nothing any more."""
    try:
        said = pipe.recv()
    except EOFError:
        process = running.pop(pipe)
        process.join()
        if process.exitcode:
            rank, code = process.name, process.exitcode
            ended = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            what = f"{rank} {ended}"
            hint = "give the same command again: what was done is kept"
            raise UserError(what, where="ranks", hint=hint) from None
        return
    if isinstance(said, BaseException):
        raise said
    tell(said)


def _run(
    work: Callable[..., None], rank: Rank, pipe: Connection, arguments: tuple[Any, ...]
) -> None:
    """The process of a rank; its parent hears what it tells and why it fails."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one core a rank
    stop_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C and ends its ranks
    try:
        work(rank, pipe.send, *arguments)
    except (UserError, OSError) as error:
        pipe.send(error)


def stop_with_parent() -> None:
    """Have this process, one of `multiprocessing`, stop with its parent: no kill leaves orphans.

    By its sentinel: the process number above is the fork server's, which outlives the parent.
    """
    parent = multiprocessing.parent_process()
    assert parent
    stop_after(parent.join)


def stop_after(wait: Callable[[], object]) -> None:
    """Have this process stop once `wait` returns."""

    def stop() -> None:
        wait()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop, daemon=True).start()


def stop_on_sigterm() -> Any:
    """Take SIGTERM for Ctrl-C; returns the handler before, None outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGTERM, signal.default_int_handler)
