"""What starts jobs: one launcher for each place, registered by its name."""

import signal
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from tongues.errors import UserError
from tongues.launch.job import Job
from tongues.ranks import stop_on_sigterm
from tongues.registry import Registry

__all__ = ["LAUNCHERS", "Launcher", "Options", "check_ranks", "open_launcher", "watched"]


@dataclass(frozen=True, slots=True)
class Options:
    """What users ask of a launcher."""

    workers: int | None = None  # jobs at a time; one a core here, as many as fit on a cluster
    processes: int = 1  # of each job
    partition: str | None = None  # of a cluster
    time: str | None = None  # the limit of a job, as the cluster takes it


class Launcher(ABC):
    """Starts jobs in one place, and knows which of them have ended.

    The class is what is registered: `name` and `summary` are for users; `takes` names those of
    `partition` and `time` that it knows; `here` says whether its jobs compute on this machine;
    `lasting` whether they continue when this process ends, and another can wait for them.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    takes: ClassVar[tuple[str, ...]] = ()
    here: ClassVar[bool] = False
    lasting: bool = False

    def __init__(self, options: Options | None = None) -> None:
        options = options or Options()
        self.workers, self.processes = options.workers, options.processes

    @abstractmethod
    def threads(self, jobs: int) -> int:
        """Threads for each of `jobs` jobs at a time."""

    @abstractmethod
    def has_room(self, job: Job) -> bool:
        """Whether one more job may be started now."""

    @abstractmethod
    def start(self, job: Job) -> None:
        """Start a job, or queue it."""

    @abstractmethod
    def ended(self, seconds: float) -> dict[str, str]:
        """Wait so long, or until a job ends; then those that ended since the last call, by name.

        Each with the reason, empty where its work reports it.
        """

    @abstractmethod
    def stop(self) -> None:
        """Have all jobs write a checkpoint and end; returns when they have."""

    def is_left(self, job: Job) -> bool:
        """Whether another command has left this very job, so that starting it means waiting."""
        return False


LAUNCHERS: Registry[type[Launcher]] = Registry("launcher", "tongues.launchers")


def open_launcher(
    name: str = "local",
    *,
    workers: int | None = None,
    processes: int | None = None,
    partition: str | None = None,
    time: str | None = None,
) -> Launcher:
    """The launcher of that name, with what is asked of it (see `Options`)."""
    kind = LAUNCHERS.find(name, "--launcher")
    for option, value in (("partition", partition), ("time", time)):
        if value and option not in kind.takes:
            able = " or ".join(f"`--launcher {k.name}`" for k in LAUNCHERS if option in k.takes)
            what, hint = f"does not take `--{option}`", f"leave it out, or add {able}"
            raise UserError(what, where=f"--launcher {name}", hint=hint)
    return kind(Options(workers, processes or 1, partition, time))


def check_ranks(name: str, ranks: int | None) -> None:
    """Refuse a launcher of other machines for work whose number of processes nobody says."""
    if ranks is None and not LAUNCHERS.find(name, "--launcher").here:
        raise UserError(f"`--launcher {name}` needs `--ranks`", hint="such as `--ranks 64`")


@contextmanager
def watched(launcher: Launcher) -> Iterator[None]:
    """Take SIGTERM for Ctrl-C, which stops a launcher's jobs; in the end those that do not last."""
    before, interrupted = stop_on_sigterm(), False
    try:
        yield
    except KeyboardInterrupt:
        interrupted = True
        raise
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
        if interrupted or not launcher.lasting:
            launcher.stop()
