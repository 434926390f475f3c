"""What starts the runs of a study."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tongues.train import RunPlan

__all__ = ["Job", "Launcher"]


@dataclass(frozen=True, slots=True)
class Job:
    """A run to be started; `tongues.train.task` trains it in a process of its own."""

    plan: RunPlan = field(repr=False)
    workspace: Path
    threads: int  # in all its processes together
    memory: int  # bytes of its process at the peak, about
    rebuild: bool = False

    @property
    def run(self) -> str:
        """Its name in the run store."""
        return self.plan.name

    def cores(self, processes: int) -> int:
        """That it should be given; threads that its recipe names are those of each process."""
        named = self.plan.settings.threads
        return named * processes if named else self.threads

    @property
    def directory(self) -> Path:
        """Of the run."""
        return self.workspace / "runs" / self.plan.name


class Launcher(Protocol):
    """Starts runs somewhere, and tells which of them have ended."""

    lasting: bool  # whether its runs go on when this process ends, and another can wait for them

    def threads(self, runs: int) -> int:
        """How many threads each of so many runs should compute on."""
        ...

    def has_room(self, job: Job) -> bool:
        """Whether one more run may be started now."""
        ...

    def start(self, job: Job) -> None:
        """Start a run, or queue it."""
        ...

    def ended(self, seconds: float) -> dict[str, str]:
        """Wait so long, or until a run ends; then those that ended since the last call.

        Each with the reason, empty where its directory tells what became of it.
        """
        ...

    def stop(self) -> None:
        """Have all runs leave a checkpoint and end; returns when they have."""
        ...
