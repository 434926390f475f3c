"""Many runs of one recipe: what they take, and training them."""

from pathlib import Path

from tongues.errors import UserError
from tongues.files import write_json
from tongues.frames import text_table
from tongues.jsonable import to_plain
from tongues.launch import open_launcher
from tongues.quantities import counted, show_bytes
from tongues.recipe import Overrides, Recipe, RecipeSource, load_recipe
from tongues.study import measure_cost, run_all
from tongues.study.pilot import forecast_large_run
from tongues.verbs.recipes import check_prepared
from tongues.verbs.shared import Voice, where_of


def study(
    recipe: RecipeSource,
    overrides: Overrides = (),
    workspace: Path | str = ".",
    *,
    overwrite: bool = False,
    launcher: str = "local",
    processes: int | None = None,
    quiet: bool = False,
) -> Path:
    """Train all runs of a recipe's study; returns their folder, `runs/NAME`.

    The text must be prepared. Safe to interrupt; call it again to resume. Of a recipe with a
    `pilot` they are its small runs, by which its large run is forecast, in `forecast.json` of that
    folder. overwrite: overwrite runs made with other settings. launcher: what starts them, such as
    `local`, `ray` or `slurm:partition=gpu`. processes: of each run, by torchrun.
    """
    workspace, loaded = Path(workspace), load_recipe(recipe, overrides)
    check_study(recipe, loaded)
    checked = check_prepared(loaded, workspace, launcher, processes)
    starts = open_launcher(
        launcher,
        workers=loaded.study.workers if loaded.study else None,
        processes=processes,
    )
    voice = Voice(quiet)
    cost = measure_cost(
        checked.runs, workspace, checked.at_once, launcher, processes, overwrite=overwrite
    )
    if cost.runs:
        voice.say(f"{cost}; {show_bytes(checked.disk)} of disk at most")
    with voice.progress(f"{loaded.name}: {counted(len(checked.runs), 'run')}") as show:
        run_all(
            [plan for plan, _ in checked.runs],
            workspace,
            launcher=starts,
            watch=lambda state: show(state.share, *state.words()),
            tell=voice.say,
            overwrite=overwrite,
        )
    folder = workspace / "runs" / loaded.name
    if loaded.pilot:
        forecast = forecast_large_run(loaded, workspace)
        write_json(folder / "forecast.json", to_plain(forecast))
        for line in (text_table(forecast.rows()), *forecast.remarks()):
            voice.say(line)
    return folder


def check_study(recipe: RecipeSource, loaded: Recipe) -> None:
    """Refuse a recipe that has no study and no pilot."""
    if not (loaded.study or loaded.pilot):
        what = "there is no `study` or `pilot` section"
        raise UserError(what, where=where_of(recipe), hint="see `tongues train`")
