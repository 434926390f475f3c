"""A process among others: its share of the work, and when it stops."""

import multiprocessing
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

Say = Callable[[str], None]
Item = TypeVar("Item")
_noted: list[int] = []


@dataclass(frozen=True, slots=True)
class Rank:
    """One of `count` processes that share a list of items."""

    number: int
    count: int

    def share(self, items: Sequence[Item]) -> Sequence[Item]:
        """The items of this rank."""
        return items[self.number :: self.count]


@contextmanager
def main_left_alone() -> Iterator[None]:
    """Processes that are started meanwhile do not import this one's `__main__`.

    Or a script without `if __name__ == "__main__":` would start again in each of them.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def stop_with_parent() -> None:
    """Have this process, one of `multiprocessing`, stop with its parent: no kill leaves orphans.

    By its sentinel: the process number above is the fork server's, which outlives the parent.
    """
    parent = multiprocessing.parent_process()
    assert parent
    stop_after(parent.join)


def stop_with_starter() -> None:
    """Have this process stop with the one that started it, whatever that is."""
    number = os.getppid()
    starter = os.pidfd_open(number)
    if os.getppid() != number:  # gone meanwhile, and another took its place
        raise SystemExit(0)
    stop_after(lambda: select.select([starter], [], []))


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


@contextmanager
def interrupts_noted() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt and is noted, for `earlier_interrupts`.

    Python drops an exception that is raised in a callback, of the import system, the garbage
    collector or C code: work that takes seconds to begin would continue. It also ignores Ctrl-C in
    the background jobs of a script, which training must not.
    """

    def interrupt(number: int, _: object) -> None:
        _noted.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only it can take them over
        yield
        return
    _noted.clear()
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _noted.clear()


def earlier_interrupts() -> list[int]:
    """The Ctrl-C within `interrupts_noted` that have not ended it."""
    return list(_noted)
