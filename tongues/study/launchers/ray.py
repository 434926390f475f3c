"""Runs as tasks of a Ray cluster whose machines see one workspace."""

import logging
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import OutOfMemoryError, RayError, RayTaskError, TaskCancelledError

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

    def __init__(self, workers: int | None = None, processes: int = 1) -> None:
        if not ray.is_initialized():
            ray.init(log_to_driver=False, logging_level=logging.ERROR)
        self._workers, self._processes = workers, processes
        self._running: dict[Any, str] = {}

    def threads(self, runs: int) -> int:
        """An even share of the cluster's cores, on one machine."""
        cores = round(ray.cluster_resources().get("CPU", 1))
        share = cores // min(self._workers or cores, runs)
        return max(1, min(share, round(_most("CPU"))))

    def has_room(self, job: Job) -> bool:
        """Always, but for more runs at a time than were asked for: Ray queues them."""
        return self._workers is None or len(self._running) < self._workers

    def start(self, job: Job) -> None:
        """Queue a task; one that is too large for every machine takes a whole one."""
        task = ray.remote(_train).options(
            name=job.run,
            num_cpus=min(job.cores, _most("CPU")),
            num_gpus=self._gpus(),
            memory=min(job.memory * self._processes, _most("memory")),
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
        share = min(1.0, there / (self._workers or 1) / self._processes)
        return self._processes if there and share == 1 else round(share * self._processes, 2)


def _most(resource: str) -> float:
    """Of a resource on the machine that has most of it."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return max((node.get(resource, 0.0) for node in nodes), default=1.0)


def _train(job: Job, processes: int, place: Path) -> str:
    """The task: a run as this machine's launcher starts it, in a process of its own.

    Ray's worker lives on for the next task, and so does the server that knows torch already.
    """
    os.chdir(place)
    here = Local(1, processes)
    here.start(job)
    try:
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
