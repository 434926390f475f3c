"""Runs as processes of this machine, on its cores and GPUs."""

import multiprocessing
import os
from multiprocessing import connection
from multiprocessing.process import BaseProcess

from tongues.errors import UserError
from tongues.ranks import core_count, main_left_alone, stop_with_parent
from tongues.study.launchers.gpus import choose_gpus, free_memory
from tongues.study.launchers.launcher import Job
from tongues.train.task import run_task, why_ended

__all__ = ["Local"]

_ON_GPU = 600_000_000  # bytes that a process takes there before its model


class Local:
    """So many runs at a time, by default one a core, which share the cores.

    Where there are GPUs each run gets the emptiest, several at a time as far as memory goes.

    Parameters
    ----------
    processes: of each run, started by torchrun where there are several.
    """

    lasting = False

    def __init__(self, workers: int | None = None, processes: int = 1) -> None:
        self._processes = processes
        self._workers = workers or max(1, core_count() // processes)
        # Children forked from a server that holds torch already start in a hundredth of the time.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tongues.train.run"])
        self._running: dict[str, tuple[BaseProcess, Job, list[str]]] = {}  # with its GPUs
        self._free = free_memory()
        if self._free and processes > len(self._free):
            what = (
                f"{processes} processes of a run take as many GPUs, and here are {len(self._free)}"
            )
            hint = "ask for fewer, or hide the GPUs with `CUDA_VISIBLE_DEVICES=`"
            raise UserError(what, where="--processes", hint=hint)

    def threads(self, runs: int) -> int:
        """An even share of the cores."""
        return max(1, core_count() // min(self._workers, runs))

    def has_room(self, job: Job) -> bool:
        """Whether there are a worker and, where there are GPUs, memory left."""
        return len(self._running) < self._workers and self._place(job) is not None

    def start(self, job: Job) -> None:
        """Start a process, forked from a server that knows torch already."""
        gpus = self._place(job) or []
        process = self._context.Process(target=_run, args=(job, self._processes, gpus))
        process.name = job.run
        with main_left_alone():
            process.start()
        self._running[job.run] = process, job, gpus
        self._take(job, gpus)

    def ended(self, seconds: float) -> dict[str, str]:
        """The processes that are gone."""
        sentinels = {process.sentinel: run for run, (process, _, _) in self._running.items()}
        reasons: dict[str, str] = {}
        for sentinel in connection.wait(list(sentinels), timeout=seconds):
            assert isinstance(sentinel, int)
            run = sentinels[sentinel]
            reasons[run] = why_ended(self._forget(run))
        return reasons

    def stop(self) -> None:
        """Ask the processes to leave a checkpoint, and wait for them."""
        for process, _, _ in self._running.values():
            process.terminate()
        for run in list(self._running):
            self._forget(run)

    def _forget(self, run: str) -> int:
        """Wait until a process is gone; returns its exit code."""
        process, job, gpus = self._running.pop(run)
        process.join()
        self._take(job, gpus, times=-1)
        assert process.exitcode is not None
        return process.exitcode

    def _place(self, job: Job) -> list[str] | None:
        """The GPUs for a run, none of a machine without; None where it has to wait."""
        count = self._processes if self._free else 0
        need = job.memory + _ON_GPU if self._running else 0.0  # alone it may try
        return choose_gpus(self._free, need, count)

    def _take(self, job: Job, gpus: list[str], times: int = 1) -> None:
        for gpu in gpus:
            self._free[gpu] -= times * (job.memory + _ON_GPU)


def _run(job: Job, processes: int, gpus: list[str]) -> None:
    """The process of one run."""
    stop_with_parent()
    if gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    code = run_task(
        job.plan, job.workspace, threads=job.threads, processes=processes, rebuild=job.rebuild
    )
    raise SystemExit(code)
