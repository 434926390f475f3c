"""A job: work for a process of its own, and why such a process ended.

`python -m tongues.core.launch.job FILE` is that process where a launcher needs a command line.
"""

import os
import pickle
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tongues.core.files import file_name, whole_file
from tongues.core.ranks import stop_with_starter

DONE, FAILED, UNTOLD = 0, 1, 74  # exit codes; what was stopped, or held by another, is done too
_ASKED = {-signal.SIGTERM, -signal.SIGINT}  # before the work could take them for a request


@dataclass(frozen=True, slots=True)
class Job:
    """Work for a process of its own: a run of a study, or a rank's share of other work.

    A job in a queue that has the same name, folder and fingerprint is this one.
    """

    name: str  # by which users and launchers know it
    work: Callable[[], int] = field(repr=False)  # can be pickled; returns the exit code
    folder: Path  # where a launcher may leave files, seen by every machine
    fingerprint: str  # of all that the work depends on
    threads: int = 1  # the cores it is given
    memory: int = 0  # bytes of all its processes at the peak, about
    gpus: int = 0  # that it takes where there are any
    imports: tuple[str, ...] = ()  # slow ones, for a server from which such processes are forked
    alone: bool = False  # no job of another fingerprint may be at work for the same folder

    @property
    def files(self) -> Path:
        """The folder of what launchers leave."""
        return self.folder / ".jobs"


def command_line(job: Job) -> list[str]:
    """What does a job in a process of its own, from a file that is left for it.

    The file is named by what it holds: a job in a queue does what it was meant to.
    """
    path = (job.files / f"{file_name(job.name)}-{job.fingerprint}").resolve()
    with whole_file(path) as aside:
        aside.write_bytes(pickle.dumps((Path.cwd(), job.work)))
    return [sys.executable, "-m", "tongues.core.launch.job", str(path)]


def why_ended(code: int) -> str:
    """Why a process that ended with `code` failed; empty where its work reports the reason."""
    if code == DONE or code in _ASKED:
        return ""
    if code == UNTOLD:
        return "it failed, and its disk did not take the reason: it may be full"
    if code >= 0:
        return f"its process ended with exit code {code}"
    if code == -signal.SIGKILL:
        return "its process was killed by signal 9, as when memory is full"
    return f"its process was killed by signal {-code} ({signal.strsignal(-code)})"


def _main(path: Path) -> int:
    stop_with_starter()
    place, work = pickle.loads(path.read_bytes())
    os.chdir(place)
    return work()


if __name__ == "__main__":
    raise SystemExit(_main(Path(sys.argv[1])))
