"""What starts jobs: one launcher for each place, registered by its name."""

import math
import re
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from tongues.core.errors import UserError
from tongues.core.launch.job import Job
from tongues.core.ranks import stop_on_sigterm
from tongues.core.registry import Registry


@dataclass(frozen=True, slots=True)
class Options:
    """What users ask of a launcher."""

    workers: int | None = None  # jobs at a time; one a core here, as many as fit on a cluster
    processes: int = 1  # of each job
    settings: Mapping[str, str] = field(default_factory=dict)  # of those that the kind takes


class Launcher(ABC):
    """Starts jobs in one place, and knows which of them have ended.

    The class is what is registered: `name` and `summary` are for users; `takes` names its own
    settings, which follow its name as in `slurm:partition=gpu`; `here` says whether its jobs
    compute on this machine; `lasting` whether they continue when this process ends, and another
    can wait for them.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    takes: ClassVar[tuple[str, ...]] = ()
    here: ClassVar[bool] = False
    lasting: bool = False

    def __init__(self, options: Options | None = None) -> None:
        options = options or Options()
        self.workers, self.processes = options.workers, options.processes
        self.most = math.inf if self.workers is None else self.workers  # jobs at a time

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


def launcher_kind(launcher: str) -> type[Launcher]:
    """The registered kind of a launcher, whose settings may follow its name."""
    return LAUNCHERS.find(launcher.partition(":")[0], "--launcher")


def open_launcher(
    launcher: str = "local", *, workers: int | None = None, processes: int | None = None
) -> Launcher:
    """The launcher of that name and settings, such as `slurm:partition=gpu,time=4:00:00`."""
    kind, settings = launcher_kind(launcher), dict[str, str]()
    after = launcher.partition(":")[2]
    for setting in filter(None, re.split(r",(?=\w+=)", after)):  # a value may have commas
        key, _, value = setting.partition("=")
        if key not in kind.takes or not value:
            takes = ", ".join(f"{name}=…" for name in kind.takes)
            hint = f"it takes {takes}" if takes else "it takes no settings"
            what = f"does not take the setting `{setting}`"
            raise UserError(what, where=f"--launcher {kind.name}", hint=hint)
        settings[key] = value
    return kind(Options(workers, processes or 1, settings))


def check_ranks(launcher: str, ranks: int | None) -> None:
    """Refuse a launcher of other machines for work whose number of processes nobody says."""
    if ranks is None and not (kind := launcher_kind(launcher)).here:
        raise UserError(f"`--launcher {kind.name}` needs `--ranks`", hint="such as `--ranks 64`")


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
