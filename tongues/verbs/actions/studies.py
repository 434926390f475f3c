"""Many runs of one recipe: what they take, and training them."""

from collections.abc import Sequence
from pathlib import Path

from tongues.core.errors import UserError
from tongues.core.files import write_json
from tongues.core.frames import text_table
from tongues.core.launch import open_launcher
from tongues.core.quantities import counted, show_bytes
from tongues.recipe import Recipe, RecipeSource, load_recipe
from tongues.train import RunPlan
from tongues.train.study import best_rates, measure_cost, run_all, unfinished
from tongues.train.study.pilot import forecast_large_run
from tongues.train.work import open_work
from tongues.verbs.actions.recipes import check_prepared
from tongues.verbs.recipes import Study
from tongues.verbs.shared import Voice, where_of


def study(asked: Study) -> Path:
    """Train all runs of a recipe; returns their folder."""
    workspace, loaded = Path(asked.workspace), load_recipe(asked.recipe, asked.overrides)
    launcher, processes, overwrite = asked.launcher, asked.processes, asked.overwrite
    check_study(asked.recipe, loaded)
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


def check_study(recipe: RecipeSource, loaded: Recipe) -> None:
    """Refuse a recipe that has no study and no pilot."""
    if not (loaded.study or loaded.pilot):
        what = "there is no `study` or `pilot` section"
        raise UserError(what, where=where_of(recipe), hint="see `tongues train`")
