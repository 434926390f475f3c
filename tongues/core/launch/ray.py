"""Jobs as tasks of a Ray cluster whose machines see one workspace."""

import logging
import math
import os
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from tongues.core.errors import UserError
from tongues.core.extras import require
from tongues.core.launch.job import Job
from tongues.core.launch.launcher import Launcher, Options
from tongues.core.launch.local import Local

_LOOK_EVERY = 0.2  # seconds that a task is deaf to being cancelled


class Ray(Launcher):
    """Each job a task with its cores, GPUs and memory.

    Ray itself tries nothing again: a job whose machine is lost is started again, and resumes
    from what is on disk. `workers` jobs at a time share the GPUs; by default there are as many
    as find room.
    """

    name, summary = "ray", "Tasks of a Ray cluster."

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        require("ray", "--launcher ray")
        self._ray: Any = import_module("ray")
        if not self._ray.is_initialized():
            self._ray.init(log_to_driver=False, logging_level=logging.ERROR)
        self._running: dict[Any, str] = {}

    def threads(self, jobs: int) -> int:
        """An even share of the cluster's cores, on one machine."""
        cores = round(self._ray.cluster_resources().get("CPU", 1))
        share = cores // min(self.workers or cores, jobs)
        most = max((machine.get("CPU", 0.0) for machine in self._machines()), default=1.0)
        return max(1, min(share, round(most)))

    def has_room(self, job: Job) -> bool:
        """Always, but for more jobs at a time than were asked for: Ray queues them."""
        return len(self._running) < self.most

    def start(self, job: Job) -> None:
        """Queue a task; one that is too large for every machine takes a whole one."""
        cpus, memory = float(job.threads), float(job.memory)
        gpus = _gpu_share(self._ray.cluster_resources().get("GPU", 0), self.workers or 1, job.gpus)
        room = _roomiest(self._machines(), cpus, gpus, memory)
        task = self._ray.remote(_run).options(
            name=job.name,
            num_cpus=min(cpus, room["CPU"]),
            num_gpus=gpus,
            memory=min(memory, room.get("memory", 0.0)),
            max_retries=0,
        )
        self._running[task.remote(job, Path.cwd())] = job.name

    def ended(self, seconds: float) -> dict[str, str]:
        """The tasks that are done or lost."""
        if not self._running:
            time.sleep(seconds)
            return {}
        self._ray.wait(list(self._running), timeout=seconds)
        every = list(self._running)
        done, _ = self._ray.wait(every, num_returns=len(every), timeout=0)
        return {self._running.pop(task): self._reason(task) for task in done}

    def stop(self) -> None:
        """Cancel the tasks, each of which waits for its process to end."""
        for task in self._running:
            self._ray.cancel(task)
        if self._running:
            self._ray.wait(list(self._running), num_returns=len(self._running))
        self._running.clear()

    def _machines(self) -> list[dict[str, float]]:
        nodes = (node["Resources"] for node in self._ray.nodes() if node["Alive"])
        return [machine for machine in nodes if machine.get("CPU")]

    def _reason(self, task: Any) -> str:
        errors = self._ray.exceptions
        try:
            return self._ray.get(task)
        except errors.OutOfMemoryError:
            return "Ray ended it because its machine's memory was full"
        except errors.TaskCancelledError:
            return ""
        except errors.RayTaskError as error:
            return str(error)
        except errors.RayError:
            return ""  # its machine is lost


def _gpu_share(there: float, workers: int, wanted: int) -> float:
    """GPUs of one job as Ray takes them: whole ones, or less than one to four digits.

    One a process, less where more jobs at a time were asked for than there are GPUs.
    """
    if not there or wanted != 1:
        return wanted if there else 0
    return min(1.0, max(1e-4, math.floor(there / workers * 1e4) / 1e4))


def _roomiest(
    machines: list[dict[str, float]], cpus: float, gpus: float, memory: float
) -> dict[str, float]:
    able = [machine for machine in machines if machine.get("GPU", 0.0) >= gpus]
    if not able:
        what = f"no machine of the Ray cluster has {gpus:g} GPUs and a core for one job"
        raise UserError(what, where="--launcher ray", hint="ask for fewer `--processes`")

    def has(machine: dict[str, float]) -> float:
        return min(machine["CPU"] / cpus, machine.get("memory", 0.0) / max(memory, 1.0), 1.0)

    return max(able, key=has)


def _run(job: Job, place: Path) -> str:
    """The task: a job as this machine's launcher starts it, in a process of its own.

    Ray's worker lives on for the next task, and so does the server that holds its imports.
    """
    os.chdir(place)
    here = Local(Options(1))
    try:
        here.start(job)
        while not (ended := here.ended(_LOOK_EVERY)):
            pass
        return ended[job.name]
    except KeyboardInterrupt:
        here.stop()
        raise
