"""Jobs as processes of this machine, on its cores and GPUs."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing import connection, forkserver, resource_tracker
from multiprocessing.process import BaseProcess

from tongues.core.cores import core_count, threads_for
from tongues.core.errors import UserError
from tongues.core.hardware import visible_gpus
from tongues.core.launch.job import Job, why_ended
from tongues.core.launch.launcher import Launcher, Options
from tongues.core.ranks import main_left_alone, stop_with_parent

_ON_GPU = 600_000_000  # bytes that a process takes there before its model
# Prints the bytes free on each GPU, 0 where it admits nobody.
_ASKS = """
import torch
for number in range(torch.cuda.device_count()):
    try:
        print(torch.cuda.mem_get_info(number)[0])
    except RuntimeError:
        print(0)
"""


class Local(Launcher):
    """`workers` jobs at a time, by default one a core, which share the cores.

    Where there are GPUs each job gets the emptiest, several at a time as far as memory goes.
    """

    name, summary, here = "local", "Processes of this machine.", True

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self._workers = self.workers or max(1, core_count() // self.processes)
        # Children forked from a server that holds torch already start in a hundredth of the time.
        self._context = multiprocessing.get_context("forkserver")
        self._running: dict[str, tuple[BaseProcess, Job, list[str]]] = {}  # with its GPUs
        self._free: dict[str, float] | None = None  # to be asked, since others come and go
        if self.processes > 1 and 0 < (gpus := len(visible_gpus())) < self.processes:
            what = f"{self.processes} processes of a job need as many GPUs, not {gpus}"
            hint = "ask for fewer, or hide the GPUs with `CUDA_VISIBLE_DEVICES=`"
            raise UserError(what, where="--processes", hint=hint)

    def threads(self, jobs: int) -> int:
        """An even share of the cores."""
        return threads_for(min(self._workers, jobs))

    def has_room(self, job: Job) -> bool:
        """Whether there are a worker and, where there are GPUs, memory left."""
        return len(self._running) < self._workers and self._place(job) is not None

    def start(self, job: Job) -> None:
        """Start a process, forked from a server that holds its imports already."""
        gpus = self._place(job) or []
        self._context.set_forkserver_preload([*job.imports])
        resource_tracker.ensure_running()  # which would unmask the signal
        # Who starts here inherits the mask: Ctrl-C is for this process, which ends the jobs.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        process = self._context.Process(target=_run, args=(job, gpus), name=job.name)
        with main_left_alone():
            process.start()
        self._running[job.name] = process, job, gpus
        self._take(job, gpus)

    def ended(self, seconds: float) -> dict[str, str]:
        """The processes that are gone."""
        sentinels = {process.sentinel: name for name, (process, _, _) in self._running.items()}
        gone = connection.wait(list(sentinels), timeout=seconds)
        names = [sentinels[sentinel] for sentinel in gone if isinstance(sentinel, int)]
        return {name: why_ended(self._forget(name)) for name in names}

    def stop(self) -> None:
        """Ask the processes to end, and wait for them."""
        for process, _, _ in self._running.values():
            process.terminate()
        for name in list(self._running):
            self._forget(name)

    def _forget(self, name: str) -> int:
        process, job, gpus = self._running.pop(name)
        process.join()
        self._take(job, gpus, times=-1)
        if not self._running:
            self._free = None
        assert process.exitcode is not None
        return process.exitcode

    def _place(self, job: Job) -> list[str] | None:
        if not job.gpus:
            return []
        if self._free is None:
            self._free = free_memory()
        need = _on_each(job) if self._running else 0.0  # alone it may try
        return choose_gpus(self._free, need, job.gpus)

    def _take(self, job: Job, gpus: list[str], times: int = 1) -> None:
        for gpu in gpus:
            assert self._free is not None
            self._free[gpu] -= times * _on_each(job)


def free_memory() -> dict[str, float]:
    """Bytes free on each GPU that this process may use, by what `CUDA_VISIBLE_DEVICES` calls it.

    Another process asks PyTorch, since one that has asked keeps memory there.
    """
    gpus = visible_gpus()
    if not gpus:
        return {}
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = visible.split(",") if visible else [str(number) for number in range(len(gpus))]
    done = subprocess.run(
        [sys.executable, "-c", _ASKS], capture_output=True, text=True, check=False
    )
    free = [float(line) for line in done.stdout.split()] or [gpu.memory for gpu in gpus]
    return dict(zip(names, free, strict=False))  # after one that is not there, CUDA sees none


def choose_gpus(free: Mapping[str, float], need: float, count: int) -> list[str] | None:
    """The `count` emptiest GPUs; None where one of them has not `need` bytes left."""
    emptiest = sorted(free, key=lambda gpu: -free[gpu])[:count]
    return emptiest if all(free[gpu] >= need for gpu in emptiest) else None


def _on_each(job: Job) -> float:
    return job.memory / max(1, job.gpus) + _ON_GPU


def _run(job: Job, gpus: list[str]) -> None:
    stop_with_parent()
    if gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    raise SystemExit(job.work())
