"""The stages of `prepare` on other machines, each a pipeline of datatrove's executors.

All machines see one folder. What datatrove keeps of a launch, its logs and marks, lies in
`corpus/<name>/executors` and decides nothing: the stages know by themselves what is done.
"""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from subprocess import CalledProcessError
from typing import Any

from tongues.errors import Stopped, UserError
from tongues.files import (
    append_line,
    fingerprint,
    read_json,
    read_lines,
    remove_directory,
    write_json,
)
from tongues.ranks import Rank, Tell, run_ranks, stop_after, stop_on_sigterm
from tongues.recipe import Recipe
from tongues.tokens.prepare import STAGES, RunStages, run_stage

try:
    from datatrove.executor import (
        LocalPipelineExecutor,
        RayPipelineExecutor,
        SlurmPipelineExecutor,
    )
    from datatrove.executor.base import PipelineExecutor
    from datatrove.utils.logging import logger
except ModuleNotFoundError:
    hint = "install it with `pip install 'tongues[curate]'`"
    raise UserError("datatrove is not installed", where="--on", hint=hint) from None

__all__ = ["Share", "find_runner"]

_MEMORY = 4  # GB of a rank
_LISTEN_EVERY = 1.0  # seconds
_LOOK_EVERY = 5.0  # seconds between looks at Slurm's queue
_TELL_EVERY = 60.0  # seconds between words about it
_AGAIN = "give the same command again: what was done is kept"


@dataclass(frozen=True, slots=True)
class Share:
    """A rank's share of a stage, as a step of a datatrove pipeline.

    Its lines and its error are left in `folder` for whoever launched it.
    """

    stage: str
    recipe: Recipe = field(repr=False)
    workspace: Path
    folder: Path
    place: Path  # from where the recipe's paths are meant

    def __call__(self, data: object, rank: int, world_size: int) -> None:
        """Do it; the step takes no documents and gives none."""
        os.chdir(self.place)
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one core a rank
        if os.environ.get("DATATROVE_EXECUTOR") == "RAY":  # its ranks would outlive their actor
            stop_after(partial(_outlive, os.getppid()))
        said = _said(self.folder, rank)
        said.parent.mkdir(parents=True, exist_ok=True)

        def tell(line: str) -> None:
            append_line(said, {"line": line})

        try:
            run_stage(Rank(rank, world_size), tell, self.stage, self.recipe, self.workspace)
        except UserError as error:
            row = {"what": error.what, "where": error.where}
            append_line(said, row | {"hint": error.hint, "code": error.code})
            raise
        except OSError as error:
            append_line(said, {"what": str(error), "where": self.stage, "hint": _AGAIN, "code": ""})
            raise


def find_runner(on: str, partition: str | None = None, limit: str = "24:00:00") -> RunStages:
    """What runs all stages on `local`, `slurm` or `ray`, for `prepare_tokens`.

    Slurm needs a partition; `limit` is the most time that it gives a rank. Elsewhere both say
    nothing.
    """
    if on == "local":
        return partial(_run_in_turn, _Local)
    if on == "ray":
        if not find_spec("ray"):
            hint = "install it with `pip install ray`"
            raise UserError("Ray is not installed", where="--on ray", hint=hint)
        return _run_ray
    if partition is None:
        hint = "name one that `sinfo` shows with `--partition`"
        raise UserError("Slurm needs a partition", where="--on slurm", hint=hint)
    if not which("sbatch"):
        what, hint = "there is no `sbatch` here", "run it where jobs are submitted"
        raise UserError(what, where="--on slurm", hint=hint)
    return partial(_run_slurm, partition, limit)


class _Local(LocalPipelineExecutor):
    """datatrove's, without its pool of processes, which waits for ever for one that is killed."""

    def run(self) -> None:
        run_ranks(self._run_one, (), self.tasks, lambda line: None)

    def _run_one(self, rank: Rank, tell: Tell) -> None:
        logger.disable("datatrove")  # an error comes here by itself
        self._run_for_rank(rank.number, rank.number)


class _Slurm(SlurmPipelineExecutor):
    """datatrove's, without the jobs that add up its own steps' statistics."""

    def launch_merge_stats(self) -> None:
        pass


def _run_ray(recipe: Recipe, workspace: Path, ranks: int, tell: Tell) -> None:
    ray = import_module("ray")
    if not ray.is_initialized():
        ray.init(log_to_driver=False, logging_level="error")
    make = partial(RayPipelineExecutor, mem_per_cpu_gb=_MEMORY)
    _run_in_turn(make, recipe, workspace, ranks, tell)


def _run_in_turn(
    make: Callable[..., PipelineExecutor], recipe: Recipe, workspace: Path, ranks: int, tell: Tell
) -> None:
    """Run a stage after the other, each to its end."""
    folder = _folder(recipe, workspace)
    _forget(folder)
    logger.disable("datatrove")  # its lines are in its logs
    with _heard(folder, tell):
        for given in _pipelines(recipe, workspace, ranks).values():
            executor = make(**given)
            executor.run()
            _check(executor)


def _run_slurm(
    partition: str, limit: str, recipe: Recipe, workspace: Path, ranks: int, tell: Tell
) -> None:
    """Queue all stages at once, each behind the one before, and wait for the last.

    Where a command before this one has queued them, wait for those.
    """
    folder = _folder(recipe, workspace)
    mark = folder / "launched.json"
    settings = recipe.model_dump(mode="json", include={"text", "tokens"})
    launched = {"ranks": ranks, **settings}
    place = fingerprint(str(folder))[:6]
    make = partial(
        _Slurm,
        time=limit,
        partition=partition,
        qos="",
        mem_per_cpu_gb=_MEMORY,
        env_command=f'export PATH="{Path(sys.executable).parent}:$PATH"',
        sbatch_args={"kill-on-invalid-dep": "yes"},
    )
    stages: dict[str, _Slurm] = {}  # by the names of their jobs
    last = None
    for stage, given in _pipelines(recipe, workspace, ranks).items():
        name = f"{recipe.name}-{stage}-{place}"
        last = stages[name] = make(job_name=name, depends=last, **given)
    assert last
    logger.disable("datatrove")
    before = stop_on_sigterm()
    try:
        if not _queued(stages):
            _forget(folder)
            write_json(mark, launched)
            last.launch_job()
        elif not mark.exists() or read_json(mark) != launched:
            what = "jobs of other settings are at work here"
            hint = "wait for them, or end them (`squeue --me`, `scancel`)"
            raise UserError(what, where=str(folder), hint=hint)
        with _heard(folder, tell):
            _wait(stages, tell)
    except KeyboardInterrupt:
        _cancel(stages)
        raise Stopped("stopped, its jobs with it") from None
    except CalledProcessError:
        _cancel(stages)
        what, hint = "Slurm refused the jobs", "mend what `sbatch` says above"
        raise UserError(what, where="--on slurm", hint=hint) from None
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
    for executor in stages.values():
        _check(executor)


def _pipelines(recipe: Recipe, workspace: Path, ranks: int) -> dict[str, dict[str, Any]]:
    """What an executor of each stage is made from."""
    folder, place, here = _folder(recipe, workspace), workspace.resolve(), Path.cwd()
    return {
        stage: {
            "pipeline": [Share(stage, recipe, place, folder / stage, here)],
            "tasks": ranks if shared else 1,
            "logging_dir": str(folder / stage),
        }
        for stage, shared in STAGES.items()
    }


def _folder(recipe: Recipe, workspace: Path) -> Path:
    return (workspace / "corpus" / recipe.name / "executors").resolve()


def _forget(folder: Path) -> None:
    """Remove what the launch before this one left."""
    if folder.exists():
        remove_directory(folder)
    folder.mkdir(parents=True)


def _outlive(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)


def _said(folder: Path, rank: int) -> Path:
    return folder / "said" / f"{rank:05}.jsonl"


@contextmanager
def _heard(folder: Path, tell: Tell) -> Iterator[None]:
    """Pass on the lines that ranks leave, from wherever they run, until the block ends."""
    over = threading.Event()

    def listen() -> None:
        heard: Counter[Path] = Counter()
        ending = False
        while not ending:
            ending = over.wait(_LISTEN_EVERY)
            for path in sorted(folder.glob("*/said/*.jsonl")):
                rows = read_lines(path)[heard[path] :]
                heard[path] += len(rows)
                for row in rows:
                    if "line" in row:
                        tell(row["line"])

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _check(executor: PipelineExecutor) -> None:
    """Raise why a rank of a stage has not done its share, if one has not."""
    folder = Path(executor.logging_dir.path)
    missing = executor.get_incomplete_ranks(skip_completed=True)
    for rank in missing:
        for row in read_lines(_said(folder, rank)):
            if "what" in row:
                raise UserError(**row)
    if missing:
        what = f"rank {missing[0]} of {executor.world_size} did not come to its end"
        raise UserError(what, where=str(folder), hint=_AGAIN)


def _queued(names: Iterable[str]) -> list[str]:
    """The jobs of these names in Slurm's queue, each by its name and state."""
    command = ["squeue", "--me", "--array", "--noheader", "--format=%j %T"]
    command.append(f"--name={','.join(names)}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        what, hint = f"`squeue` says: {done.stderr.strip()}", f"its jobs go on; {_AGAIN}"
        raise UserError(what, where="--on slurm", hint=hint)
    return done.stdout.splitlines()


def _wait(names: Iterable[str], tell: Tell) -> None:
    """Wait until no job of these names is queued, and tell how they stand now and then."""
    told = -math.inf
    while queued := _queued(names):
        if time.monotonic() - told > _TELL_EVERY:
            told = time.monotonic()
            counts = Counter(queued).items()
            tell("in Slurm's queue: " + ", ".join(f"{count} {job}" for job, count in counts))
        time.sleep(_LOOK_EVERY)


def _cancel(names: Iterable[str]) -> None:
    """End all jobs of these names, and wait until they are gone."""
    for name in names:
        subprocess.run(["scancel", "--me", f"--name={name}"], check=False)
    _wait(names, lambda line: None)
