"""The process of one run, wherever: `python -m tongues.train.task WORKSPACE RUN FINGERPRINT`.

What became of the run stands in its directory; the exit code says only what could not be left
there.
"""

import os
import select
import signal
import sys
import traceback
from argparse import ArgumentParser
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tongues.errors import Stopped, UserError
from tongues.files import fingerprint, is_held, only_one, read_json, write_json, write_text
from tongues.ranks import stop_after
from tongues.runs import FAILURE, PLANS
from tongues.train.plan import RunPlan

__all__ = ["command_line", "leave_plans", "run_task", "why_ended"]

_ENDED, _FAILED, _UNTOLD = 0, 1, 74  # exit codes; stopped, and held by another, are ends too
_ASKED = {-signal.SIGTERM, -signal.SIGINT}  # before the run could take them for a request
_LAST_CHECKPOINT = 3600  # seconds that torchrun grants its processes to leave one
_PLANS = ".plans"  # in a study's folder: a file a plan that is trained by its name


def leave_plans(plans: Iterable[RunPlan], workspace: Path, *, whole: bool = False) -> None:
    """List the runs that are meant, beside those listed before.

    whole: they are all that their recipe means; others listed before are meant no longer.
    """
    folders: dict[Path, dict[str, object]] = {}
    for plan in plans:
        folder = (workspace / "runs" / plan.name).parent
        folders.setdefault(folder, {})[plan.name] = plan.to_json()
    for folder, meant in folders.items():
        with only_one(folder / PLANS):
            listed = {} if whole or not (folder / PLANS).exists() else read_json(folder / PLANS)
            others = {run: plan for run, plan in listed.items() if run not in meant}
            write_json(folder / PLANS, meant | others)


def command_line(
    plan: RunPlan, workspace: Path, *, threads: int, processes: int = 1, rebuild: bool = False
) -> list[str]:
    """What starts a run as a process of its own, whose plan is left for it in a file.

    The file is named by what it holds: a job in a queue trains what it was meant to.
    """
    name = fingerprint(plan.to_json())
    write_json(_plan_file(workspace, plan.name, name), plan.to_json())
    start = [sys.executable, "-m", "tongues.train.task", str(workspace.resolve()), plan.name, name]
    start += ["--threads", str(threads), "--processes", str(processes)]
    return [*start, "--rebuild"] if rebuild else start


def run_task(
    plan: RunPlan, workspace: Path, *, threads: int, processes: int = 1, rebuild: bool = False
) -> int:
    """Train a run on `threads` threads in all, by torchrun where `processes` is more than one.

    The reason of a failure is left in the run's directory. Returns an exit code for `why_ended`.
    """
    directory = workspace / "runs" / plan.name
    if is_held(directory):
        return _ENDED
    with suppress(OSError):
        (directory / FAILURE).unlink()
    if processes > 1:
        return _train_together(plan, workspace, threads, processes, rebuild)
    return _train(plan, workspace, threads, rebuild)


def why_ended(code: int) -> str:
    """Why a process that ended with `code` came to no end; empty where its directory tells."""
    if code in {_ENDED, *_ASKED}:
        return ""
    if code == _UNTOLD:
        return "it failed, and its disk did not take the reason: it may be full"
    if code == -signal.SIGKILL:
        return "its process was killed by signal 9, as by lack of memory"
    if code < 0:
        return f"its process was killed by signal {-code} ({signal.strsignal(-code)})"
    return f"its process ended with exit code {code}"


def _train(plan: RunPlan, workspace: Path, threads: int, rebuild: bool) -> int:
    """Train in this process; the first of its failures that is noted stands."""
    from tongues.train.run import train

    directory = workspace / "runs" / plan.name
    try:
        train(plan, workspace, threads=threads, rebuild=rebuild)
        return _ENDED
    except (Stopped, KeyboardInterrupt):
        return _ENDED
    except (UserError, OSError) as error:
        reason = error.what if isinstance(error, UserError) else str(error)
        if "RANK" not in os.environ and is_held(directory):
            return _ENDED  # somebody else came first
    except Exception:
        reason = traceback.format_exc()
    return _leave(directory, reason)


def _train_together(
    plan: RunPlan, workspace: Path, threads: int, processes: int, rebuild: bool
) -> int:
    """Train by torchrun in this process and `processes` below it."""
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import parse_args, run

    each = max(1, threads // processes)
    options = ["--standalone", "--nproc-per-node", str(processes)]
    options += ["--shutdown-timeout", str(_LAST_CHECKPOINT)]
    try:
        start = command_line(plan, workspace, threads=each, rebuild=rebuild)
        run(parse_args([*options, *start[1:]]))
        return _ENDED
    except SignalException:
        return _ENDED
    except OSError as error:
        reason = str(error)
    except ChildFailedError as error:
        reason = why_ended(error.get_first_failure()[1].exitcode)
    return _leave(workspace / "runs" / plan.name, reason) if reason else _ENDED


def _leave(directory: Path, reason: str) -> int:
    """Note why a run failed, unless that stands there already."""
    try:
        if not (directory / FAILURE).exists():
            write_text(directory / FAILURE, reason)
        return _FAILED
    except OSError:
        return _UNTOLD


def _plan_file(workspace: Path, run: str, name: str) -> Path:
    return (workspace / "runs" / run).parent / _PLANS / f"{name}.json"


def _stop_with_starter() -> None:
    """Have this process stop with the one that started it: no kill leaves orphans."""
    number = os.getppid()
    starter = os.pidfd_open(number)
    if os.getppid() != number:  # gone meanwhile, and another took its place
        raise SystemExit(_ENDED)
    stop_after(lambda: select.select([starter], [], []))


def _main() -> int:
    parser = ArgumentParser("tongues.train.task")
    parser.add_argument("workspace", type=Path)
    parser.add_argument("run")
    parser.add_argument("fingerprint")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rebuild", action="store_true")
    asked = parser.parse_args()
    _stop_with_starter()
    plan = RunPlan.from_json(read_json(_plan_file(asked.workspace, asked.run, asked.fingerprint)))
    if "RANK" in os.environ:
        return _train(plan, asked.workspace, asked.threads, asked.rebuild)
    return run_task(
        plan,
        asked.workspace,
        threads=asked.threads,
        processes=asked.processes,
        rebuild=asked.rebuild,
    )


if __name__ == "__main__":
    raise SystemExit(_main())
