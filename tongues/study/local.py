"""Run many runs on this machine: one process a run, its state told by its directory."""

import multiprocessing
import signal
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from tongues.errors import Stopped, UserError
from tongues.files import newest_lines, write_text
from tongues.ranks import core_count, stop_on_sigterm, stop_with_parent
from tongues.train import RunPlan, derive

__all__ = ["State", "run_all"]

_STOPPED = 130  # exit code of a run that was asked to stop
_SPEED = 10_000.0  # tokens per second, to compare budgets of time with others


@dataclass(frozen=True, slots=True)
class State:
    """Where a study stands."""

    runs: int
    finished: int
    running: dict[str, float]  # share of its steps done, by run
    share: float  # of the study's work done


def run_all(
    plans: Sequence[RunPlan],
    workspace: Path,
    *,
    workers: int | None = None,
    watch: Callable[[State], None] = lambda state: None,
    rebuild: bool = False,
) -> None:
    """Train every run, parents first, the longest first among those that can start.

    `workers` runs go on at a time, by default one a core, and share the cores. Stopped or killed,
    the same call goes on where each run was. A run that fails does not stop the others; in the
    end a UserError names it.
    """
    cores = core_count()
    workers = min(workers or cores, len(plans))
    # Children forked from a server that holds torch already start in a hundredth of the time.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tongues.train.run"])
    names = {plan.name for plan in plans}
    waiting = sorted(plans, key=_work, reverse=True)
    running: dict[str, BaseProcess] = {}
    finished: set[str] = set()
    failed: dict[str, str] = {}
    stopped = False
    before = stop_on_sigterm()
    try:
        while running or (waiting and not stopped):
            for plan in list(waiting):
                if plan.parent in failed:
                    waiting.remove(plan)
                    failed[plan.name] = f"its parent {plan.parent} failed"
                elif len(running) < workers and (
                    plan.parent not in names or plan.parent in finished
                ):
                    waiting.remove(plan)
                    arguments = (plan, workspace, max(1, cores // workers), rebuild)
                    running[plan.name] = context.Process(target=_run, args=arguments)
                    running[plan.name].start()
            connection.wait([process.sentinel for process in running.values()], timeout=0.5)
            for name, process in list(running.items()):
                if process.is_alive():
                    continue
                del running[name]
                if process.exitcode == 0:
                    finished.add(name)
                elif process.exitcode == _STOPPED:
                    stopped = True
                else:
                    failed[name] = _reason(workspace / "runs" / name, process.exitcode)
            watch(_state(plans, workspace, finished, running))
    except KeyboardInterrupt:
        stopped = True
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
        for process in running.values():
            process.terminate()  # a request: the run leaves a checkpoint first
        for process in running.values():
            process.join()
    if stopped:
        raise Stopped(f"stopped with {len(finished)} of {len(plans)} runs finished")
    if failed:
        name, reason = next(iter(failed.items()))
        what = f"{len(failed)} of {len(plans)} runs failed; the first: {reason}"
        raise UserError(
            what, where=name, hint="mend it and give the same command: the rest is kept"
        )


def _run(plan: RunPlan, workspace: Path, threads: int, rebuild: bool) -> None:
    """The process of one run; leaves the reason of a failure in its directory."""
    from tongues.train.run import train

    stop_with_parent()
    failure = workspace / "runs" / plan.name / "failure.txt"
    failure.unlink(missing_ok=True)
    try:
        train(plan, workspace, threads=threads, rebuild=rebuild)
    except (Stopped, KeyboardInterrupt):
        raise SystemExit(_STOPPED) from None
    except (UserError, OSError) as error:
        _leave(failure, error.what if isinstance(error, UserError) else str(error))
    except Exception:
        _leave(failure, traceback.format_exc())


def _leave(failure: Path, reason: str) -> None:
    """Note why a run failed, where the disk lets us, and end its process."""
    with suppress(OSError):
        write_text(failure, reason)
    raise SystemExit(1) from None


def _reason(directory: Path, exitcode: int | None) -> str:
    failure = directory / "failure.txt"
    if failure.is_file():
        return failure.read_text(encoding="utf-8").strip()
    return f"its process ended with exit code {exitcode}"


def _work(plan: RunPlan) -> float:
    """How much a run has to do, in operations, about."""
    return derive(plan, vocabulary=1000, tokens_per_second=_SPEED).flops


def _state(
    plans: Sequence[RunPlan],
    workspace: Path,
    finished: set[str],
    running: dict[str, BaseProcess],
) -> State:
    shares = {name: _share(workspace / "runs" / name) for name in running}
    work = {plan.name: _work(plan) for plan in plans}
    done = sum(work[name] for name in finished)
    done += sum(work[name] * share for name, share in shares.items())
    return State(len(plans), len(finished), shares, done / sum(work.values()))


def _share(directory: Path) -> float:
    row = next(newest_lines(directory / "timing.jsonl"), None)
    return row["step"] / row["steps"] if row else 0.0
