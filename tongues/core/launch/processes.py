"""Work in several processes of this machine that torchrun starts and ends together."""

import logging
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tongues.core.errors import Stopped, UserError
from tongues.core.files import whole_file
from tongues.core.launch.job import DONE, FAILED, Job, command_line, why_ended
from tongues.core.ranks import interrupts_noted

_LAST_CHECKPOINT = 3600  # seconds that processes have to leave one when they are asked to end
_FIRST = 5.0  # seconds that others leave the first process to answer
_LOGS = ("torch.distributed.elastic", "torch.distributed.elastic.agent.server.api")
_LOST = "process_failed"  # of what a process says when another one ended


def torchrun(job: Job, processes: int) -> str | None:
    """Do a job in several processes; returns why it failed, None where it was interrupted."""
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import parse_args, run

    options = ["--standalone", "--nproc-per-node", str(processes)]
    options += ["--shutdown-timeout", str(_LAST_CHECKPOINT), "--no-python"]
    python, *rest = command_line(job)
    quietly = (python, "-W", "ignore::RuntimeWarning:runpy", *rest)  # that the package knows it
    with _restored():
        try:
            run(parse_args([*options, *quietly]))
        except SignalException:
            return None
        except ChildFailedError as error:
            return why_ended(error.get_first_failure()[1].exitcode)
    return ""


def in_processes(name: str, work: Callable[[], object], processes: int) -> None:
    """Do work that can be pickled in several processes, and raise here what stopped it there.

    name: of the work, for errors.
    """
    with TemporaryDirectory(prefix="tongues-") as place:
        folder = Path(place)
        ended = torchrun(Job(name, _Answering(work, folder), folder, ""), processes)
        answers = [pickle.loads(file.read_bytes()) for file in sorted(folder.glob("*.answer"))]
    answers.sort(key=lambda error: getattr(error, "code", "") == _LOST)  # the others know more
    for error in answers:
        if getattr(error, "code", "") != _LOST or ended in (None, why_ended(FAILED)):
            raise error
    if ended is None:
        raise KeyboardInterrupt
    if ended:
        raise UserError(ended, where=name, hint="run it again to resume", code=_LOST)


@dataclass(frozen=True, slots=True)
class _Answering:
    """Work in one of several processes, which leaves what stopped it in a folder."""

    work: Callable[[], object]
    folder: Path

    def __call__(self) -> int:
        rank = int(os.environ["RANK"])
        try:
            with interrupts_noted():
                self.work()
        except (UserError, OSError, Stopped, KeyboardInterrupt) as error:
            with whole_file(self.folder / f"{rank:06d}.answer") as aside:
                aside.write_bytes(pickle.dumps(error))
            if rank and isinstance(error, UserError | OSError):
                time.sleep(_FIRST)  # torchrun ends the first when another one has ended
            return FAILED
        return DONE


@contextmanager
def _restored() -> Iterator[None]:
    """Undo at the end what torchrun does to the process that calls it: signals and environment.

    Its log is silent meanwhile, since the processes say themselves what ended them. One thread a
    process is what it would set, with a warning, where no number is named (`cores`).
    """
    logs = [logging.getLogger(name) for name in _LOGS]
    levels = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL)
    names, main = set(os.environ), threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT) if main else ()
    handlers = [(number, signal.getsignal(number)) for number in numbers]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)
        for number, handler in handlers:
            signal.signal(number, handler)
        for name in set(os.environ) - names:
            del os.environ[name]
