"""What copies a run's numbers to another program, and the registry of these."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from tongues.core.files import read_json
from tongues.core.registry import Registry

Write = Callable[[int, dict[str, float]], None]  # the numbers of a step


class Tracker(Protocol):
    """Keeps the curves of runs; each built-in one needs an extra."""

    @property
    def name(self) -> str:
        """The value of `train.track`."""
        ...

    @property
    def summary(self) -> str:
        """One sentence for help and docs."""
        ...

    def check(self) -> None:
        """Refuse before training where it cannot work, such as without its package."""
        ...

    def open(self, directory: Path) -> AbstractContextManager[Write]:
        """Begin an empty copy of the run in `directory`, in place of an earlier one.

        Steps come in any order, and the numbers of a step in parts. It makes no network requests
        unless the user's environment asks for it. What it raises ends the copy, not the run.
        """
        ...


TRACKERS: Registry[Tracker] = Registry("tracker", "tongues.trackers")


def settings_of(directory: Path) -> dict[str, Any]:
    """The record of the run, which trackers show as its settings."""
    path = directory / "run.json"
    return read_json(path) if path.is_file() else {}
