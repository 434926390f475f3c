"""Train many runs: one loop for every launcher, which reads the state of a run from its directory.

It keeps no state of a study anywhere, so any launcher, or another command at the same time, goes
on from what the directories say.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tongues.core.errors import Stopped, UserError
from tongues.core.files import is_held, newest_lines, write_text
from tongues.core.hardware import this_machine
from tongues.core.launch import Job, Launcher, open_launcher, watched
from tongues.runs.record import FAILURE, read_run
from tongues.runs.states import state_of
from tongues.text.tokens import open_tokens
from tongues.train import Derived, RunPlan, derive
from tongues.train.base import find_base
from tongues.train.record import check_runs
from tongues.train.task import leave_plans, training_job

_SPEED = 10_000.0  # tokens per second, chosen: only to order budgets of time among others
_TURN = 0.5  # seconds between looks at the directories; chosen: seen as at once
_PATIENCE = 3  # times a run may be stopped without having come further; chosen
_ENDED = "{run} failed: {reason}"
_ENDED_AND_BLOCKED = _ENDED + "; {blocked} runs that continue failed ones are left out"
_FAILED = "{} of {} runs failed; the first: {first}"
_FAILED_AND_BLOCKED = (
    "{} of {} runs failed, and {} that continue them were left out; the first: {first}"
)

Status = Literal["finished", "running", "failed", "blocked", "waiting", "ready"]


@dataclass(frozen=True, slots=True)
class State:
    """Progress of a study.

    running: share of its steps done, by run. queued: given to the launcher, and not begun.
    failed: why, by run. blocked: left out, since the run that they continue failed. share: of the
    study's work done.
    """

    runs: int
    finished: int
    running: dict[str, float]
    queued: int
    failed: dict[str, str]
    blocked: int
    share: float

    def words(self) -> tuple[str, ...]:
        """For a live line, the names of runs without their folder."""
        counts = {"queued": self.queued, "failed": len(self.failed)}
        parts = [f"{self.finished} finished", *(f"{n} {what}" for what, n in counts.items() if n)]
        running = [f"{name.rpartition('/')[2]} {share:.0%}" for name, share in self.running.items()]
        return (*parts, *running)


def run_all(
    plans: Sequence[RunPlan],
    workspace: Path,
    *,
    launcher: Launcher | None = None,
    watch: Callable[[State], None] = lambda state: None,
    tell: Callable[[str], None] = lambda line: None,
    overwrite: bool = False,
) -> None:
    """Train every run, parents first, the longest chain of work first among those that can start.

    launcher: by default this machine's. Stopped or killed, the same call resumes where each run
    was. A run that fails does not stop the others; in the end a UserError (`runs_failed`) names
    the first, `State.failed` all of them, and the same call tries them again. Runs of other
    settings are a UserError before anything starts, unless `overwrite`. Others of their folder that
    have not begun are no longer planned.
    """
    if not plans:
        return
    launcher = launcher or open_launcher()
    study = _Study(plans, workspace, launcher, overwrite, tell)
    leave_plans(plans, workspace)
    try:
        with watched(launcher):
            while {"ready", "running"} & set((status := study.look()).values()):
                for job in study.jobs.values():
                    if status[job.name] == "ready" and launcher.has_room(job):
                        study.started(job.name)
                        launcher.start(job)
                state = study.state(status)
                watch(state)
                for run, reason in launcher.ended(_TURN).items():
                    study.ended(run, reason)
            watch(study.state(status))
    except KeyboardInterrupt:
        finished = Counter(study.look().values())["finished"]
        raise Stopped(f"stopped with {finished} of {len(plans)} runs finished") from None
    study.check()


class _Study:
    """The runs of a study, those with the longest chain of work first, and the status of each.

    Apart from the directories it keeps only which runs this command has started.
    """

    def __init__(
        self,
        plans: Sequence[RunPlan],
        workspace: Path,
        launcher: Launcher,
        overwrite: bool,
        tell: Callable[[str], None],
    ) -> None:
        self._runs = workspace / "runs"
        self._plans, self._tell = {plan.name: plan for plan in plans}, tell
        self._fingerprints, _ = check_runs(plans, workspace, overwrite=overwrite)
        derived: dict[str, Derived] = {}
        names = {plan.tokens for plan in plans}
        opened = {name: open_tokens(workspace / "tokens" / name) for name in names}
        machine = replace(this_machine(), processes=launcher.processes)

        def reckon(plan: RunPlan) -> None:
            if plan.base in self._plans and plan.base not in derived:
                reckon(self._plans[plan.base])
            parent = None if plan.base in self._plans else find_base(plan.base, workspace)
            vocabulary = opened[plan.tokens].vocabulary_size
            derived[plan.name] = derive(
                plan, vocabulary, parent, tokens_per_second=_SPEED, machine=machine
            )

        children: dict[str, list[str]] = {}
        for plan in self._plans.values():
            children.setdefault(plan.base or "", []).append(plan.name)
            if plan.name not in derived:
                reckon(plan)
        self._work = {name: numbers.flops for name, numbers in derived.items()}

        def chain(name: str) -> float:
            return self._work[name] + max(map(chain, children.get(name, ())), default=0.0)

        threads = launcher.threads(len(plans))
        self.jobs: dict[str, Job] = {
            name: training_job(
                self._plans[name],
                workspace,
                threads=threads,
                processes=launcher.processes,
                memory=derived[name].memory,
                overwrite=overwrite,
            )
            for name in sorted(self._plans, key=chain, reverse=True)
        }
        self._finished: set[str] = set()
        self._started: set[str] = set()
        self._failed: dict[str, str] = {}
        self._tries: Counter[tuple[str, int]] = Counter()  # of a run from a step
        self._elsewhere: set[str] = set()

    def look(self) -> dict[str, Status]:
        """The status of every run now."""
        status: dict[str, Status] = {}
        for name in self._work:  # parents first
            of_parent = status.get(self._plans[name].base or "", "finished")
            if name in self._failed:
                status[name] = "failed"
            elif name in self._started:
                status[name] = "running"
            elif self._is_finished(name):
                status[name] = "finished"
            elif of_parent in ("failed", "blocked"):
                status[name] = "blocked"
            elif is_held(self._runs / name):
                if name not in self._elsewhere:
                    self._tell(f"{name} is trained by another command; it is waited for")
                self._elsewhere.add(name)
                status[name] = "running"
            else:
                status[name] = "ready" if of_parent == "finished" else "waiting"
        return status

    def started(self, run: str) -> None:
        with suppress(OSError):
            (self._runs / run / FAILURE).unlink()
        self._started.add(run)
        self._tries[run, self._step(run)] += 1

    def ended(self, run: str, reason: str) -> None:
        """Judge a run whose process is gone, by its directory and what is known of the process."""
        self._started.discard(run)
        failure = self._runs / run / FAILURE
        if self._is_finished(run):
            return
        if failure.is_file():
            reason = failure.read_text(encoding="utf-8").strip()
        elif not reason and self._tries[run, self._step(run)] >= _PATIENCE:
            reason = f"it was stopped {_PATIENCE} times without having come further"
        if not reason:
            return  # stopped, not failed: it is ready again
        if not failure.is_file():
            with suppress(OSError):  # a full disk
                write_text(failure, reason)
        self._failed[run] = reason
        blocked = Counter(self.look().values())["blocked"]
        text = _ENDED_AND_BLOCKED if blocked else _ENDED
        self._tell(text.format(run=run, reason=_last_line(reason), blocked=blocked))

    def state(self, status: dict[str, Status]) -> State:
        """All of it in numbers."""
        counts, running = Counter(status.values()), dict[str, float]()
        done = sum(self._work[n] for n in status if status[n] == "finished")
        for name in self.jobs:
            directory = self._runs / name
            if status[name] != "running" and name not in self._started:
                continue
            row = next(newest_lines(directory / "timing.jsonl"), None)
            share = row["step"] / row["steps"] if row else 0.0
            done += self._work[name] * share
            if is_held(directory):  # not so where its process begins or ends
                running[name] = share
        return State(
            runs=len(self.jobs),
            finished=counts["finished"],
            running=running,
            queued=len(self._started - running.keys()),
            failed=dict(self._failed),
            blocked=counts["blocked"],
            share=done / sum(self._work.values()),
        )

    def check(self) -> None:
        if not self._failed:
            return
        name, reason = next(iter(self._failed.items()))
        blocked = Counter(self.look().values())["blocked"]
        text = _FAILED_AND_BLOCKED if blocked else _FAILED
        what = text.format(len(self._failed), len(self.jobs), blocked, first=_last_line(reason))
        hint = f"fix it ({self._runs / name / FAILURE}) and run it again: the rest is kept"
        raise UserError(what, where=name, hint=hint, code="runs_failed")

    def _is_finished(self, name: str) -> bool:
        """Whether a run of these very settings is finished."""
        if name not in self._finished and (self._runs / name / "run.json").is_file():
            with suppress(UserError):  # a damaged record: the run's own process says how
                record = read_run(self._runs / name)
                if (record.fingerprint, record.status) == (self._fingerprints[name], "finished"):
                    self._finished.add(name)
        return name in self._finished

    def _step(self, name: str) -> int:
        directory = self._runs / name
        return (state_of(directory).step or 0) if (directory / "run.json").is_file() else 0


def _last_line(reason: str) -> str:
    return reason.strip().rpartition("\n")[2].strip()
