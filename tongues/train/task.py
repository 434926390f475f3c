"""A run as a job: the work of its process, wherever it is started.

The result of the run is in its directory.
"""

import os
import traceback
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tongues.core.errors import Stopped, UserError
from tongues.core.files import fingerprint, is_held, only_one, write_json, write_text
from tongues.core.launch import DONE, FAILED, UNTOLD, Job, torchrun
from tongues.runs.record import FAILURE, PLANS
from tongues.train.planned import RunPlan


def leave_plans(plans: Iterable[RunPlan], workspace: Path) -> None:
    """Write the list of planned runs: all of their recipe, and no others."""
    folders: dict[Path, dict[str, object]] = {}
    for plan in plans:
        folder = (workspace / "runs" / plan.name).parent
        folders.setdefault(folder, {})[plan.name] = plan.to_json()
    for folder, planned in folders.items():
        with only_one(folder / PLANS):
            write_json(folder / PLANS, planned)


def training_job(
    plan: RunPlan,
    workspace: Path,
    *,
    threads: int,
    processes: int = 1,
    memory: int = 0,
    overwrite: bool = False,
) -> Job:
    """A run as a job, by its name in the run store.

    threads: of all its processes together, unless its recipe names those of each. memory: bytes
    of each process at the peak, about.
    """
    named = plan.settings.threads
    return Job(
        plan.name,
        Training(plan, workspace, threads, processes, overwrite),
        (workspace / "runs" / plan.name).parent,
        fingerprint([plan.to_json(), processes]),
        threads=named * processes if named else threads,
        memory=memory * processes,
        gpus=processes,
        imports=("tongues.train.run",),
    )


@dataclass(frozen=True, slots=True)
class Training:
    """The work of a run's process: trains the run on `threads` threads in all.

    By torchrun where `processes` is more than one. The reason of a failure is left in the run's
    directory; the exit code says only what could not be left there.
    """

    plan: RunPlan
    workspace: Path
    threads: int
    processes: int = 1
    overwrite: bool = False

    def __call__(self) -> int:
        """Train; returns an exit code."""
        directory, together = self.workspace / "runs" / self.plan.name, "RANK" in os.environ
        if not together:
            if is_held(directory):
                return DONE
            with suppress(OSError):
                (directory / FAILURE).unlink()
        try:
            reason = self._torchrun() if self.processes > 1 and not together else self._train()
        except (Stopped, KeyboardInterrupt):
            return DONE
        except (UserError, OSError) as error:
            reason = error.what if isinstance(error, UserError) else str(error)
            if not together and is_held(directory):
                return DONE  # somebody else came first
        except Exception:
            reason = traceback.format_exc()
        if not reason:
            return DONE
        try:
            if not (directory / FAILURE).exists():  # the first failure that is noted stands
                write_text(directory / FAILURE, reason)
            return FAILED
        except (OSError, UserError):
            return UNTOLD

    def _train(self) -> str:
        from tongues.train.run import train

        train(self.plan, self.workspace, threads=self.threads, overwrite=self.overwrite)
        return ""

    def _torchrun(self) -> str:
        each = max(1, self.threads // self.processes)
        one = training_job(self.plan, self.workspace, threads=each, overwrite=self.overwrite)
        return torchrun(one, self.processes) or ""
