"""Recipes: checked, their text prepared, their run or runs trained."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tongues.core.errors import UserError
from tongues.core.extras import require
from tongues.core.files import DISK_FULL, write_json
from tongues.core.hardware import Machine, find_gpu
from tongues.core.launch import check_ranks, in_processes, launcher_kind, open_launcher
from tongues.core.pages import text_table
from tongues.core.quantities import counted, show_bytes
from tongues.core.ranks import interrupts_noted
from tongues.plan.check import Checked, check_disk, check_recipe
from tongues.recipe import Recipe, load_recipe, load_text_recipe, show_recipe
from tongues.text.tokens import check_tokens, prepare_tokens
from tongues.train import RunPlan
from tongues.train.plan import run_of_recipe
from tongues.train.record import check_settings
from tongues.train.study import best_rates, measure_cost, run_all, unfinished
from tongues.train.study.pilot import forecast_large_run
from tongues.train.work import Work, open_work
from tongues.verbs.recipes import Check, Prepare, Study, Train
from tongues.verbs.shared import Voice, where_of


def check(asked: Check) -> Checked:
    """The runs of a sound recipe, and what they take."""
    if asked.gpus and not asked.gpu:
        raise UserError("--gpus says nothing without `--gpu`", hint="such as `--gpu h100`")
    machine = Machine.of_gpus(find_gpu(asked.gpu), asked.gpus or 1) if asked.gpu else None
    recipe = load_recipe(asked.recipe, asked.overrides)
    return check_recipe(open_work(recipe, Path(asked.workspace), machine), machine=machine)


def prepare(asked: Prepare) -> Path:
    """Prepare the text of a recipe; returns the folder of its tokens."""
    workspace, ranks = Path(asked.workspace), asked.ranks
    loaded = load_text_recipe(asked.recipe, asked.overrides)
    require("pyarrow", "prepare")
    if isinstance(loaded, Recipe):
        check_recipe(open_work(loaded, workspace), training=False)
    check_ranks(asked.launcher, ranks)
    starts = open_launcher(asked.launcher, workers=ranks)
    tell = Voice(asked.quiet).say
    return prepare_tokens(
        loaded, workspace, tell, asked.overwrite, ranks, starts if ranks else None
    )


def train(asked: Train) -> Path:
    """Train the one run of a recipe; returns its directory."""
    workspace, processes = Path(asked.workspace), asked.processes
    with interrupts_noted():  # torch takes seconds to import
        loaded = load_recipe(asked.recipe, asked.overrides)
        for section, what in (("study", "study"), ("experts", "experts train")):
            if getattr(loaded, section):
                hint = f"use `tongues {what}`"
                raise UserError(
                    f"has a `{section}` section", where=where_of(asked.recipe), hint=hint
                )
        if processes is None or processes == 1:
            return _train(loaded, workspace, asked.overwrite, Voice(asked.quiet))
        if "RANK" in os.environ:
            what, hint = "torchrun has started this process", "leave one of the two out"
            raise UserError(what, where="--processes", hint=hint)
        work = partial(_train, loaded, workspace, asked.overwrite, Voice(asked.quiet))
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
        show(0.0, "held-out text is scored before the first step")
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


def study(asked: Study) -> Path:
    """Train all runs of a recipe; returns their folder."""
    workspace, loaded = Path(asked.workspace), load_recipe(asked.recipe, asked.overrides)
    launcher, processes, overwrite = asked.launcher, asked.processes, asked.overwrite
    if not (loaded.study or loaded.pilot):
        what = "there is no `study` or `pilot` section"
        raise UserError(what, where=where_of(asked.recipe), hint="see `tongues train`")
    work = open_work(loaded, workspace)
    checked = check_prepared(work, launcher, processes)
    starts = open_launcher(
        launcher, workers=loaded.study.workers if loaded.study else None, processes=processes
    )
    voice = Voice(asked.quiet)
    runs, at_once = checked.runs, checked.at_once
    cost = measure_cost(checked.all, workspace, at_once, launcher, processes, overwrite=overwrite)
    if cost.runs:
        voice.say(f"{cost}; {show_bytes(checked.disk)} of disk at most")

    def run(plans: Sequence[RunPlan], title: str) -> None:
        with voice.progress(f"{title}: {counted(len(plans), 'run')}") as show:
            run_all(
                plans,
                workspace,
                launcher=starts,
                watch=lambda state: show(state.share, *state.words()),
                tell=voice.say,
                overwrite=overwrite,
            )

    if checked.sweep:
        plans = [plan for plan, _ in checked.sweep]
        try:
            run(plans, f"{loaded.name}, the rate")
        except UserError:
            if unfinished(plans, workspace):
                raise
        rates, doubts = best_rates(plans, workspace)
        shown = ", ".join(f"{rate:.3g} at {shape}" for shape, rate in rates.items())
        for line in (f"best rates: {shown}", *doubts):
            voice.say(line)
        runs = check_prepared(work, launcher, processes).runs
    run([plan for plan, _ in runs], loaded.name)
    folder = workspace / "runs" / loaded.name
    if loaded.pilot:
        forecast = forecast_large_run(work)
        write_json(folder / "forecast.json", forecast.to_json())
        for line in (text_table(forecast.rows()), *forecast.remarks()):
            voice.say(line)
    return folder


def check_prepared(work: Work, launcher: str = "local", processes: int | None = None) -> Checked:
    """The runs of a sound recipe whose text is prepared; they must fit where it is launched.

    processes: of each run of a study, or of experts; None: one.
    """
    here = launcher_kind(launcher).here
    checked = check_recipe(work, processes=processes or 1, here=here)
    check_disk(checked)
    check_tokens(work.recipe, work.workspace)
    return checked
