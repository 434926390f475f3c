"""Runs as jobs of Slurm, on machines that see one workspace."""

import math
import re
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from submitit import SlurmExecutor
from submitit.core.utils import CommandFunction

from tongues.errors import UserError
from tongues.files import fingerprint
from tongues.study.launchers.launcher import Job
from tongues.train.task import command_line, why_ended

__all__ = ["Slurm"]

_LOOK_EVERY = 5.0  # seconds between looks at the queue
_PATIENCE = 600.0  # seconds for which Slurm may not answer
_CANCELLED = 120.0  # seconds in which a cancelled job is gone, unless Slurm cannot clear it away
_BEFORE_THE_END = 60  # seconds before its time is over that a run is asked to stop
_MARGIN = 1.25  # of memory, over what is foretold
_BESIDES = 0.25  # GiB of a job, for the process that starts the run
_GIB = 2**30
_GO_ON = {"COMPLETED", "TIMEOUT", "DEADLINE", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL", ""}

# Of the exception that submitit leaves where the run's own process did not end well.
_ENDED = re.compile(r"died with <Signals.\w+: (?P<signal>\d+)>|exit status (?P<code>\d+)")


class Slurm:
    """Each run a job with its cores, GPUs, memory and time.

    A run whose time is over, or whose machine is lost, is queued again. Jobs that another command
    left in the queue are waited for, and not cancelled. What Slurm does not take now, while there
    are jobs of this command, is submitted later.

    Parameters
    ----------
    partition: as `sinfo` shows it; where it has GPUs, each process of a run gets one.
    limit: the most time for a job, as `sbatch` takes it.
    workers: jobs at a time; by default all that can start.
    processes: of each run, started by torchrun where there are several.
    """

    lasting = True

    def __init__(
        self, partition: str, limit: str, workers: int | None = None, processes: int = 1
    ) -> None:
        self._partition, self._limit = partition, limit
        self._workers, self._processes = workers, processes
        resources = _ask("sinfo", "--noheader", f"--partition={partition}", "--format=%G")
        self._has_gpus = "gpu" in resources
        self._jobs: dict[str, tuple[str, Path]] = {}  # number of the job and its folder, by run
        self._submitted: set[str] = set()  # numbers of those that no other command left
        self._not_taken: Job | None = None
        self._looked = self._answered = time.monotonic()

    def threads(self, runs: int) -> int:
        """One a process: more are asked for by `train.threads`."""
        return self._processes

    def has_room(self, job: Job) -> bool:
        """Unless there are as many jobs as were asked for, or as Slurm takes."""
        few = self._workers is None or len(self._jobs) < self._workers
        return few and self._not_taken is None

    def start(self, job: Job) -> None:
        """Submit a job, unless another command did; later where Slurm does not take it now."""
        folder = job.directory.parent / ".slurm"
        meant = [str(job.directory.resolve()), job.plan.to_json()]
        name = f"{job.directory.name}-{fingerprint(meant)[:6]}"
        queue = self._look()
        number = None
        if queue is not None:
            there = (number for number, its_name in queue.items() if its_name == name)
            number = next(there, None) or self._submit(job, name, folder)
        self._not_taken = None if number else job
        if number:
            self._jobs[job.run] = number, folder

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
        gone = [run for run, (number, _) in self._jobs.items() if number not in queue]
        return {run: self._reason(*self._jobs.pop(run)) for run in gone}

    def stop(self) -> None:
        """Cancel what was submitted here; each job leaves a checkpoint, and they are waited for."""
        numbers = {number for number, _ in self._jobs.values()} & self._submitted
        if numbers:
            subprocess.run(["scancel", *numbers], check=False)
        deadline = time.monotonic() + _CANCELLED
        while numbers and time.monotonic() < deadline:
            time.sleep(1.0)
            with suppress(UserError):
                numbers &= _queue().keys()
        self._jobs.clear()
        self._not_taken = None

    def _look(self) -> dict[str, str] | None:
        """The queue; None where Slurm does not answer, which is borne for some minutes."""
        try:
            queue = _queue()
        except UserError:
            if time.monotonic() - self._answered > _PATIENCE:
                raise
            return None
        self._answered = time.monotonic()
        return queue

    def _submit(self, job: Job, name: str, folder: Path) -> str | None:
        """The number of a new job; None where it is refused while there are others."""
        executor = SlurmExecutor(folder)
        executor.update_parameters(
            job_name=name,
            partition=self._partition,
            cpus_per_task=job.cores(self._processes),
            mem=f"{math.ceil(_BESIDES + _MARGIN * self._processes * job.memory / _GIB)}GB",
            gpus_per_node=self._processes if self._has_gpus else None,
            stderr_to_stdout=True,
            additional_parameters={"time": self._limit, "signal": f"TERM@{_BEFORE_THE_END}"},
        )
        command = command_line(
            job.plan,
            job.workspace,
            threads=job.threads,
            processes=self._processes,
            rebuild=job.rebuild,
        )
        try:
            number = executor.submit(CommandFunction(command, cwd=Path.cwd())).job_id
        except RuntimeError as error:
            if self._jobs:
                return None
            what = f"Slurm refused a job: {str(error).strip()}"
            hint = "`sinfo` shows what there is"
            raise UserError(what, where="--on slurm", hint=hint) from None
        self._submitted.add(number)
        return number

    def _reason(self, number: str, folder: Path) -> str:
        """Why a job that left the queue came to no end; empty where its run goes on or is done."""
        command = ["scontrol", "--oneliner", "show", "job", number]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        told = dict(word.split("=", 1) for word in done.stdout.split() if "=" in word)
        state = told.get("JobState", "")
        others = number not in self._submitted
        if state in _GO_ON or (state == "CANCELLED" and others):
            return ""
        if state == "OUT_OF_MEMORY":
            return f"its Slurm job {number} was killed for lack of memory"
        log = folder / f"{number}_0_log.out"
        ended = (
            _ENDED.search(log.read_text(errors="replace"))
            if state == "FAILED" and log.exists()
            else None
        )
        if ended:
            return why_ended(-int(ended["signal"]) if ended["signal"] else int(ended["code"]))
        return f"its Slurm job {number} ended as {state}; its words lie in {log}"


def _queue() -> dict[str, str]:
    """The names of our jobs in Slurm's queue, by their numbers."""
    lines = _ask("squeue", "--me", "--noheader", "--format=%i %j").splitlines()
    pairs = (line.strip().partition(" ") for line in lines)
    return {number: name for number, _, name in pairs}


def _ask(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        what = f"`{command[0]}` says: {done.stderr.strip()}"
        hint = "its jobs go on; the same command waits for them"
        raise UserError(what, where="--on slurm", hint=hint)
    return done.stdout
