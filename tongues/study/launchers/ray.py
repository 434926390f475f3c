"""Runs as tasks of a Ray cluster whose machines see one workspace."""

import logging
import math
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import OutOfMemoryError, RayError, RayTaskError, TaskCancelledError

from tongues.errors import UserError
from tongues.study.launchers.launcher import Job
from tongues.study.launchers.local import Local

__all__ = ["Ray"]

_LOOK_EVERY = 0.2  # seconds that a task is deaf to being cancelled


class Ray:
    """Each run a task with its cores, GPUs and memory.

    Ray itself tries nothing again: of a run whose machine is lost the directory tells where to go
    on, and it is started anew.

    Parameters
    ----------
    workers: runs at a time, which then share the GPUs; by default as many as find room.
    processes: of each run, started by torchrun where there are several.
    """

    lasting = False

    def __init__(self, workers: int | None = None, processes: int = 1) -> None:
        if not ray.is_initialized():
            ray.init(log_to_driver=False, logging_level=logging.ERROR)
        self._workers, self._processes = workers, processes
        self._running: dict[Any, str] = {}

    def threads(self, runs: int) -> int:
        """An even share of the cluster's cores, on one machine."""
        cores = round(ray.cluster_resources().get("CPU", 1))
        share = cores // min(self._workers or cores, runs)
        most = max((machine.get("CPU", 0.0) for machine in _machines()), default=1.0)
        return max(1, min(share, round(most)))

    def has_room(self, job: Job) -> bool:
        """Always, but for more runs at a time than were asked for: Ray queues them."""
        return self._workers is None or len(self._running) < self._workers

    def start(self, job: Job) -> None:
        """Queue a task; one that is too large for every machine takes a whole one."""
        cpus, memory = float(job.cores(self._processes)), float(job.memory * self._processes)
        gpus = self._gpus()
        room = _roomiest(cpus, gpus, memory)
        task = ray.remote(_train).options(
            name=job.run,
            num_cpus=min(cpus, room["CPU"]),
            num_gpus=gpus,
            memory=min(memory, room.get("memory", 0.0)),
            max_retries=0,
        )
        given = replace(job, workspace=job.workspace.resolve())
        self._running[task.remote(given, self._processes, Path.cwd())] = job.run

    def ended(self, seconds: float) -> dict[str, str]:
        """The tasks that are done or lost."""
        if not self._running:
            time.sleep(seconds)
            return {}
        ray.wait(list(self._running), timeout=seconds)
        done, _ = ray.wait(list(self._running), num_returns=len(self._running), timeout=0)
        return {self._running.pop(place): _reason(place) for place in done}

    def stop(self) -> None:
        """Cancel the tasks, each of which waits for its process to leave a checkpoint."""
        for place in self._running:
            ray.cancel(place)
        if self._running:
            ray.wait(list(self._running), num_returns=len(self._running))
        self._running.clear()

    def _gpus(self) -> float:
        """Of a run: one a process, less where more runs at a time were asked for than GPUs."""
        there = ray.cluster_resources().get("GPU", 0)
        return _gpu_share(there, self._workers or 1, self._processes)


def _gpu_share(there: float, workers: int, processes: int) -> float:
    """GPUs of one run as Ray takes them: whole ones, or less than one to four digits."""
    if not there or processes > 1:
        return processes if there else 0
    return min(1.0, max(1e-4, math.floor(there / workers * 1e4) / 1e4))


def _machines() -> list[dict[str, float]]:
    """What each machine of the cluster has that can train."""
    alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return [machine for machine in alive if machine.get("CPU")]


def _roomiest(cpus: float, gpus: float, memory: float) -> dict[str, float]:
    """A machine with so many GPUs that has all of the rest, or most of it."""
    able = [machine for machine in _machines() if machine.get("GPU", 0.0) >= gpus]
    if not able:
        what = f"no machine of the Ray cluster has {gpus:g} GPUs and a core for one run"
        raise UserError(what, where="--on ray", hint="ask for fewer `--processes`")

    def has(machine: dict[str, float]) -> float:
        return min(machine["CPU"] / cpus, machine.get("memory", 0.0) / memory, 1.0)

    return max(able, key=has)


def _train(job: Job, processes: int, place: Path) -> str:
    """The task: a run as this machine's launcher starts it, in a process of its own.

    Ray's worker lives on for the next task, and so does the server that knows torch already.
    """
    os.chdir(place)
    here = Local(1, processes)
    try:
        here.start(job)
        while not (ended := here.ended(_LOOK_EVERY)):
            pass
        return ended[job.run]
    except KeyboardInterrupt:
        here.stop()
        raise


def _reason(place: Any) -> str:
    """Why a task's run came to no end; empty where its directory tells."""
    try:
        return ray.get(place)
    except OutOfMemoryError:
        return "Ray ended it for lack of memory on its machine"
    except TaskCancelledError:
        return ""
    except RayTaskError as error:
        return str(error)
    except RayError:
        return ""  # its machine is lost
