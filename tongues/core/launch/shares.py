"""The same work in several processes at once: each rank does its share of a list of items.

An item is a pure function of its input and leaves its own output and a mark when it is whole, so
neither the number of ranks nor a kill changes a byte: what has no mark is done again.
"""

import os
import pickle
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tongues.core.errors import Stopped, UserError
from tongues.core.files import append_line, read_lines
from tongues.core.launch.job import DONE, FAILED, Job
from tongues.core.launch.launcher import Launcher, Options, watched
from tongues.core.launch.local import Local
from tongues.core.ranks import Rank, Say

_MEMORY = 3 * 2**30  # bytes of a rank, of which a cluster must know; chosen
_TURN = 0.2  # seconds between looks at what ranks say; chosen
_TRIES = 3  # of a rank that is stopped, such as by its cluster; chosen
_AGAIN = "run the same command again: finished work is kept"


def run_ranks(
    work: Callable[..., None],
    arguments: tuple[Any, ...],
    ranks: int,
    tell: Say,
    *,
    folder: Path,
    launcher: Launcher | None = None,
    name: str = "work",
    fingerprint: str = "",
    threads: int = 1,
    memory: int = _MEMORY,
    gpus: int = 0,
) -> None:
    """Call `work(rank, say, *arguments)` for every rank, each in a process of its own.

    Here, one rank alone works in this process. launcher: by default this machine's, with all ranks
    at a time. The rest is of the jobs (see `Job`).
    The first error of a rank stops the others and is raised here. A rank that is killed is named;
    the same call then does what is missing.
    """
    launcher = launcher or Local(Options(ranks))
    if ranks == 1 and launcher.here:
        work(Rank(0, 1), tell, *arguments)
        return
    if launcher.here:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core a rank
    folder.mkdir(parents=True, exist_ok=True)
    jobs: dict[str, Job] = {}
    about = (folder, fingerprint, threads, memory, gpus, (work.__module__,))
    for number in range(ranks):
        of = f"{name}-{number + 1}-of-{ranks}"
        share = Share(work, arguments, Rank(number, ranks), folder.resolve() / f"{of}.jsonl")
        jobs[of] = Job(of, share, *about, alone=True)
    try:
        with watched(launcher):
            _attend(jobs, launcher, tell)
    except KeyboardInterrupt:
        raise Stopped("stopped") from None


@dataclass(frozen=True, slots=True)
class Share:
    """The work of a rank's process; its lines and its error are written to `output`."""

    work: Callable[..., None]
    arguments: tuple[Any, ...] = field(repr=False)
    rank: Rank
    output: Path

    def __call__(self) -> int:
        """Do the share in this process; returns its exit code."""
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one core a rank
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends this
        self.output.unlink(missing_ok=True)
        end: dict[str, Any] = {"done": True}

        def tell(line: str) -> None:
            append_line(self.output, {"line": line})

        try:
            self.work(self.rank, tell, *self.arguments)
        except (UserError, OSError) as error:
            end = {"error": pickle.dumps(error).hex()}
        append_line(self.output, end)
        return DONE if "done" in end else FAILED

    def is_done(self, reason: str) -> bool:
        """Whether the process, which has ended, completed its work; raises its error, if any."""
        last = next(iter(read_lines(self.output)[-1:]), {})
        if "error" in last:
            raise pickle.loads(bytes.fromhex(last["error"]))
        if reason and "done" not in last:
            what = f"rank {self.rank.number + 1} of {self.rank.count}: {reason}"
            raise UserError(what, where="ranks", hint=_AGAIN, code="process_failed")
        return "done" in last


def _attend(jobs: dict[str, Job], launcher: Launcher, tell: Say) -> None:
    shares = {name: job.work for name, job in jobs.items() if isinstance(job.work, Share)}
    heard, tries, waiting = Counter[str](), Counter[str](), list(jobs)
    while shares:
        while waiting and launcher.has_room(jobs[waiting[0]]):
            name = waiting.pop(0)
            if not launcher.is_left(jobs[name]):
                shares[name].output.unlink(missing_ok=True)
                heard[name] = 0
            launcher.start(jobs[name])
            tries[name] += 1
        reasons = launcher.ended(_TURN)
        for name, share in shares.items():
            rows = read_lines(share.output)
            new, heard[name] = rows[heard[name] :], len(rows)
            for row in new:
                if "line" in row:
                    tell(row["line"])
        for name, reason in reasons.items():
            if tries[name] == _TRIES:
                reason = reason or f"it was stopped {_TRIES} times"
            try:
                done = shares[name].is_done(reason)
            except (UserError, OSError):
                launcher.stop()
                raise
            if done:
                del shares[name]
            else:
                waiting.append(name)
