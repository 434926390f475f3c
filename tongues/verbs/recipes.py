"""One recipe: checked, its text prepared, its run trained."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tongues.check import Checked, check_recipe
from tongues.errors import UserError
from tongues.extras import require
from tongues.files import DISK_FULL
from tongues.hardware import Machine, find_gpu
from tongues.launch import check_ranks, in_processes, launcher_kind, open_launcher
from tongues.quantities import show_bytes
from tongues.ranks import interrupts_noted
from tongues.recipe import (
    Overrides,
    Recipe,
    RecipeSource,
    load_recipe,
    load_text_recipe,
    show_recipe,
)
from tongues.tokens import check_tokens, prepare_tokens
from tongues.train.plan import run_of_recipe
from tongues.train.record import check_settings
from tongues.train.work import Work, open_work
from tongues.verbs.shared import Voice, where_of


def check(
    recipe: RecipeSource,
    overrides: Overrides = (),
    workspace: Path | str = ".",
    *,
    gpu: str | None = None,
    gpus: int | None = None,
) -> Checked:
    """Find every mistake in a recipe before anything runs, and what its runs take.

    Returns the runs with their sizes, tokens and FLOPs, and the memory and disk they need in bytes.
    gpu, gpus: check for this number of GPUs, such as `h100`, and not for this machine.
    """
    if gpus and not gpu:
        raise UserError("--gpus says nothing without `--gpu`", hint="such as `--gpu h100`")
    machine = Machine.of_gpus(find_gpu(gpu), gpus or 1) if gpu else None
    return check_recipe(open_work(load_recipe(recipe, overrides), Path(workspace)), machine=machine)


def prepare(
    recipe: RecipeSource,
    overrides: Overrides = (),
    workspace: Path | str = ".",
    *,
    overwrite: bool = False,
    ranks: int | None = None,
    launcher: str = "local",
    quiet: bool = False,
) -> Path:
    """Turn the text of a recipe into token shards; returns their folder, `tokens/NAME`.

    A recipe of `name`, `text` and `tokens` is enough. Safe to interrupt; call it again to resume.
    overwrite: output of other settings.
    ranks: processes that share the work. launcher: what starts them, such as `local`, `ray` or
    `slurm:partition=gpu`.
    """
    workspace, loaded = Path(workspace), load_text_recipe(recipe, overrides)
    require("pyarrow", "prepare")
    if isinstance(loaded, Recipe):
        check_recipe(open_work(loaded, workspace), training=False)
    check_ranks(launcher, ranks)
    starts = open_launcher(launcher, workers=ranks)
    tell = Voice(quiet).say
    return prepare_tokens(loaded, workspace, tell, overwrite, ranks, starts if ranks else None)


def train(
    recipe: RecipeSource,
    overrides: Overrides = (),
    workspace: Path | str = ".",
    *,
    overwrite: bool = False,
    processes: int | None = None,
    quiet: bool = False,
) -> Path:
    """Train the one run of a recipe; returns its directory, `runs/NAME`.

    The text must be prepared. Safe to interrupt: the same call resumes from the last checkpoint.
    overwrite: overwrite a run of that name with other settings. processes: of this machine, such
    as one for each GPU, that train it together.
    """
    workspace = Path(workspace)
    with interrupts_noted():  # torch takes seconds to import
        loaded = load_recipe(recipe, overrides)
        for section, what in (("study", "study"), ("experts", "experts train")):
            if getattr(loaded, section):
                hint = f"use `tongues {what}`"
                raise UserError(f"has a `{section}` section", where=where_of(recipe), hint=hint)
        if processes is None or processes == 1:
            return _train(loaded, workspace, overwrite, Voice(quiet))
        if "RANK" in os.environ:
            what, hint = "torchrun has started this process", "leave one of the two out"
            raise UserError(what, where="--processes", hint=hint)
        work = partial(_train, loaded, workspace, overwrite, Voice(quiet))
        in_processes(_name(loaded), work, processes)
        return workspace / "runs" / _name(loaded)


def _name(loaded: Recipe) -> str:
    return loaded.train.run or loaded.name


def _train(loaded: Recipe, workspace: Path, overwrite: bool, voice: Voice) -> Path:
    name, work = _name(loaded), open_work(loaded, workspace)
    if not overwrite and (workspace / "runs" / name / "run.json").is_file():
        check_tokens(loaded, workspace)
        check_settings(run_of_recipe(work), workspace)  # before torch is there
    checked = check_prepared(work)
    from tongues.train.run import train as train_run  # with torch

    if checked.work.defaults:
        values = (f"`{one.key}: {one.value}`" for one in checked.work.defaults)
        voice.say(f"by the rules for the base: {', '.join(values)}")
    for caution in checked.cautions:
        voice.say(f"caution: {caution}")
    ((plan, _),) = checked.runs
    with _telling_need(plan.name, checked.disk, workspace), voice.progress(plan.name) as show:
        return train_run(
            plan,
            workspace,
            watch=lambda progress: show(progress.share, *progress.words()),
            tell=voice.say,
            overwrite=overwrite,
            recipe=show_recipe(loaded, short=True),
        )


@contextmanager
def _telling_need(run: str, disk: int, workspace: Path) -> Iterator[None]:
    """A full disk as an OSError that names the run's folder and what the run takes."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        what = f"{os.strerror(error.errno)}; the run takes about {show_bytes(disk)} with its tokens"
        raise OSError(error.errno, what, str(workspace / "runs" / run)) from None


def check_prepared(work: Work, launcher: str = "local", processes: int | None = None) -> Checked:
    """The runs of a sound recipe whose text is prepared; they must fit where it is launched.

    processes: of each run of a study, or of experts; None: one.
    """
    here = launcher_kind(launcher).here
    checked = check_recipe(work, processes=processes or 1, here=here)
    check_tokens(work.recipe, work.workspace)
    return checked
