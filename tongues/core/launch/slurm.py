"""Jobs of Slurm, on machines that see one workspace."""

import math
import re
import shlex
import subprocess
import time
from contextlib import suppress
from shutil import which
from typing import NamedTuple

from tongues.core.errors import UserError
from tongues.core.files import file_name, fingerprint
from tongues.core.launch.job import Job, command_line, why_ended
from tongues.core.launch.launcher import Launcher, Options

_LOOK_EVERY = 5.0  # seconds between looks at the queue; chosen, as what follows
_PATIENCE = 600.0  # seconds for which Slurm may not answer
_CANCELLED = 120.0  # seconds in which a cancelled job is gone, unless Slurm cannot clear it away
_BEFORE_THE_END = 60  # seconds before its time is over that a job is asked to stop
_MARGIN = 1.25  # of memory, over what is foretold
_BESIDES = 0.25  # GiB of a job, for the process that starts others
_GIB = 2**30  # bytes, as Slurm counts them
# Why a job waits for what will not come, such as a longer limit of its partition.
_NEVER = {"PartitionTimeLimit", "PartitionNodeLimit", "BadConstraints", "AccountNotAllowed"}
_NEVER |= {"QOSNotAllowed", "InvalidAccount", "InvalidQOS", "QOSMaxWallDurationPerJobLimit"}
_GO_ON = {"COMPLETED", "TIMEOUT", "DEADLINE", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL", ""}
_EXIT = re.compile(r"(?P<code>\d+):(?P<signal>\d+)")


class _Queued(NamedTuple):
    """A job in the queue."""

    name: str = ""
    reason: str = ""  # why it waits


class Slurm(Launcher):
    """Each job one of Slurm's with its cores, GPUs, memory and time.

    A job whose time is over, or whose machine is lost, is queued again. Jobs that another command
    left in the queue are waited for, and not cancelled. What Slurm does not take now, while there
    are jobs of this command, is submitted later. In a partition with GPUs, each process of a run
    gets one.
    """

    name, summary = "slurm", "Jobs of Slurm; needs a partition."
    takes = ("partition", "time")
    lasting = True

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        if "partition" not in options.settings:
            hint = "name one that `sinfo` shows, as in `--launcher slurm:partition=gpu`"
            raise UserError("Slurm needs a partition", where="--launcher slurm", hint=hint)
        if not which("sbatch"):
            what, hint = "there is no `sbatch` here", "run it where jobs are submitted"
            raise UserError(what, where="--launcher slurm", hint=hint)
        settings = options.settings
        self._partition, self._time = settings["partition"], settings.get("time")  # or its own
        resources = _ask("sinfo", "--noheader", f"--partition={self._partition}", "--format=%G")
        self._has_gpus = "gpu" in resources
        self._jobs: dict[str, tuple[str, Job]] = {}  # with the number of each, by name
        self._submitted: set[str] = set()  # numbers of those that no other command left
        self._not_taken: Job | None = None
        self._looked = self._answered = time.monotonic()

    def threads(self, jobs: int) -> int:
        """One a process: more are asked for by `train.threads`."""
        return self.processes

    def has_room(self, job: Job) -> bool:
        """Unless there are as many jobs as were asked for, or as Slurm takes."""
        return len(self._jobs) < self.most and self._not_taken is None

    def start(self, job: Job) -> None:
        """Submit a job, unless another command did; later where Slurm does not take it now."""
        queue = self._look()
        number = None if queue is None else self._left(job, queue) or self._submit(job)
        self._not_taken = None if number else job
        if number:
            self._jobs[job.name] = number, job

    def ended(self, seconds: float) -> dict[str, str]:
        """The jobs that have left the queue, which is asked every few seconds."""
        time.sleep(seconds)
        if time.monotonic() - self._looked < _LOOK_EVERY:
            return {}
        self._looked = time.monotonic()
        if self._not_taken:
            self.start(self._not_taken)
        queue = self._look()
        if queue is None:
            return {}
        for number, job in self._jobs.values():
            if number in queue and queue[number].reason in _NEVER:
                what = f"Slurm does not start job {number} ({job.name}): {queue[number].reason}"
                hint = "choose time and partition by `sinfo`"
                raise UserError(what, where="--launcher slurm", hint=hint)
        gone = [name for name, (number, _) in self._jobs.items() if number not in queue]
        return {name: self._reason(*self._jobs.pop(name)) for name in gone}

    def stop(self) -> None:
        """Cancel what was submitted here; each job leaves a checkpoint, and they are waited for."""
        numbers = {number for number, _ in self._jobs.values()} & self._submitted
        if numbers:
            _call("scancel", *numbers)
        deadline = time.monotonic() + _CANCELLED
        while numbers and time.monotonic() < deadline:
            time.sleep(1.0)
            with suppress(UserError):
                numbers &= _queue().keys()
        self._jobs.clear()
        self._not_taken = None

    def is_left(self, job: Job) -> bool:
        """Whether another command left it in the queue."""
        return bool(self._left(job, self._look() or {}))

    def _left(self, job: Job, queue: dict[str, _Queued]) -> str | None:
        """The number of this very job in the queue; jobs that may not be there are a UserError."""
        place = f"-{_place(job)}"
        there = {one.name: number for number, one in queue.items() if place in one.name}
        own = place + job.fingerprint[:6]
        if job.alone and any(not name.endswith(own) for name in there):
            what = "jobs of other settings are at work here"
            hint = "wait for them, or end them (`squeue --me`, `scancel`)"
            raise UserError(what, where=str(job.folder), hint=hint)
        return there.get(_name(job))

    def _look(self) -> dict[str, _Queued] | None:
        try:
            queue = _queue()
        except UserError:
            if time.monotonic() - self._answered > _PATIENCE:
                raise
            return None
        self._answered = time.monotonic()
        return queue

    def _submit(self, job: Job) -> str | None:
        """The number of a new job; None where it is refused while there are others."""
        settings = {
            "job-name": _name(job),
            "partition": self._partition,
            "signal": f"B:TERM@{_BEFORE_THE_END}",
            "cpus-per-task": job.threads,
            "mem": f"{math.ceil(_BESIDES + _MARGIN * job.memory / _GIB)}G",
            "output": job.files.resolve() / "%j.log",
            "wrap": f"exec {shlex.join(command_line(job))}",
        }
        if self._time:
            settings["time"] = self._time
        if self._has_gpus and job.gpus:
            settings["gpus-per-node"] = job.gpus
        done = _call("sbatch", "--parsable", *(f"--{name}={of}" for name, of in settings.items()))
        if done.returncode:
            if self._jobs:
                return None
            what = f"Slurm refused a job: {done.stderr.strip()}"
            raise UserError(what, where="--launcher slurm", hint="see the partitions by `sinfo`")
        number = done.stdout.strip().partition(";")[0]
        self._submitted.add(number)
        return number

    def _reason(self, number: str, job: Job) -> str:
        done = _call("scontrol", "--oneliner", "show", "job", number)
        about = dict(word.split("=", 1) for word in done.stdout.split() if "=" in word)
        state, exit_code = about.get("JobState", ""), _EXIT.fullmatch(about.get("ExitCode", ""))
        if state in _GO_ON or (state == "CANCELLED" and number not in self._submitted):
            return ""
        if state == "OUT_OF_MEMORY":
            return f"its Slurm job {number} was killed because its memory was full"
        if state == "FAILED" and exit_code:
            return why_ended(-int(exit_code["signal"]) or int(exit_code["code"]))
        log = job.files / f"{number}.log"
        return f"its Slurm job {number} ended as {state}; see its log {log}"


def _place(job: Job) -> str:
    return fingerprint(str(job.folder.resolve()))[:6]


def _name(job: Job) -> str:
    return f"{file_name(job.name.rpartition('/')[2])}-{_place(job)}{job.fingerprint[:6]}"


def _queue() -> dict[str, _Queued]:
    lines = _ask("squeue", "--me", "--noheader", "--format=%i %j %r").splitlines()
    rows = (line.split(maxsplit=2) for line in lines if line.strip())
    return {number: _Queued(*rest) for number, *rest in rows}


def _call(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _ask(*command: str) -> str:
    done = _call(*command)
    if done.returncode:
        what = f"`{command[0]}` says: {done.stderr.strip()}"
        hint = "its jobs continue; run the same command again to wait for them"
        raise UserError(what, where="--launcher slurm", hint=hint, code="cluster_failed")
    return done.stdout
