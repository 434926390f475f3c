"""The process of one run, wherever it was started: `python -m tongues.train.task WORKSPACE RUN`.

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
from tongues.files import is_held, read_json, write_json, write_text
from tongues.ranks import stop_after
from tongues.runs import FAILURE, PLANS
from tongues.train.plan import RunPlan

__all__ = ["command_line", "leave_plans", "run_task", "why_ended"]

_ENDED, _FAILED, _UNTOLD = 0, 1, 74  # exit codes; stopped, and held by another, are ends too
_ASKED = {-signal.SIGTERM, -signal.SIGINT}  # before the run could take them for a request
_LAST_CHECKPOINT = 3600  # seconds that torchrun grants its processes to leave one


def leave_plans(plans: Iterable[RunPlan], workspace: Path) -> None:
    """Write down the runs that are meant, for processes that are told no more than a name."""
    folders: dict[Path, dict[str, object]] = {}
    for plan in plans:
        folder = (workspace / "runs" / plan.name).parent
        folders.setdefault(folder, {})[plan.name] = plan.to_json()
    for folder, meant in folders.items():
        write_json(folder / PLANS, meant)


def command_line(
    workspace: Path, run: str, *, threads: int, processes: int = 1, rebuild: bool = False
) -> list[str]:
    """What starts a run that `leave_plans` wrote down as a process of its own."""
    start = [sys.executable, "-m", "tongues.train.task", str(workspace.resolve()), run]
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
    start = command_line(workspace, plan.name, threads=each, rebuild=rebuild)
    options = ["--standalone", "--nproc-per-node", str(processes)]
    options += ["--shutdown-timeout", str(_LAST_CHECKPOINT)]
    try:
        run(parse_args([*options, *start[1:]]))
        return _ENDED
    except SignalException:
        return _ENDED
    except ChildFailedError as error:
        code = error.get_first_failure()[1].exitcode
    return _leave(workspace / "runs" / plan.name, why_ended(code)) if why_ended(code) else _ENDED


def _leave(directory: Path, reason: str) -> int:
    """Note why a run failed, unless that stands there already."""
    try:
        if not (directory / FAILURE).exists():
            write_text(directory / FAILURE, reason)
        return _FAILED
    except OSError:
        return _UNTOLD


def _main() -> int:
    parser = ArgumentParser("tongues.train.task")
    parser.add_argument("workspace", type=Path)
    parser.add_argument("run")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rebuild", action="store_true")
    asked = parser.parse_args()
    meant = read_json((asked.workspace / "runs" / asked.run).parent / PLANS)
    if asked.run not in meant:
        print(f"{asked.run} is no longer meant to be trained", file=sys.stderr)
        return _ENDED
    plan = RunPlan.from_json(meant[asked.run])
    if "RANK" in os.environ:
        return _train(plan, asked.workspace, asked.threads, asked.rebuild)
    starter = os.pidfd_open(os.getppid())
    stop_after(lambda: select.select([starter], [], []))  # no kill leaves orphans
    return run_task(
        plan,
        asked.workspace,
        threads=asked.threads,
        processes=asked.processes,
        rebuild=asked.rebuild,
    )


if __name__ == "__main__":
    raise SystemExit(_main())
