"""Many runs of one recipe: what they take, and training them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tongues.check import Checked
from tongues.errors import UserError
from tongues.experts.plans import expert_runs, plan_rounds
from tongues.files import write_json
from tongues.frames import text_table
from tongues.launch import open_launcher
from tongues.quantities import counted, show_bytes, show_count, show_seconds
from tongues.recipe import Overrides, Recipe, RecipeSource, load_recipe
from tongues.study import StudyCost, best_rates, choose_plans, measure_cost, run_all, unfinished
from tongues.study.pilot import forecast_large_run
from tongues.train import Derived, RunPlan
from tongues.verbs.recipes import check_prepared
from tongues.verbs.shared import Voice, where_of

Pair = tuple[RunPlan, Derived]


@dataclass(frozen=True, slots=True)
class DryRun:
    """The runs of a recipe, and what those that are not finished take on this machine.

    disk: bytes, at most.
    """

    runs: tuple[Pair, ...]
    cost: StudyCost
    disk: int

    def __str__(self) -> str:
        """Such as `28 runs to train: 1.2e13 FLOPs, about 3 min on this machine; …`."""
        if not self.cost.runs:
            return "all runs are finished"
        return f"{self.cost}; {show_bytes(self.disk)} of disk at most"

    def rows(self) -> list[dict[str, str]]:
        """A row of text a run."""
        return [
            {
                "run": row["run"],
                "strategy": row["strategy"],
                "shape": row["shape"],
                "tokens": show_count(row["tokens"]),
                "FLOPs": f"{row['flops']:.3g}",
                "takes": "finished" if row["seconds"] is None else show_seconds(row["seconds"]),
            }
            for row in self.to_json()["runs"]
        ]

    def to_json(self) -> dict[str, Any]:
        """The same as plain numbers."""
        rows = [
            {
                "run": plan.name,
                "strategy": plan.strategy,
                "shape": derived.anatomy.name,
                "tokens": derived.tokens,
                "flops": derived.flops,
                "seconds": self.cost.run_seconds.get(plan.name),
            }
            for plan, derived in self.runs
        ]
        cost = self.cost
        totals = {"to_train": cost.runs, "flops": cost.flops, "seconds": cost.seconds}
        return totals | {"disk": self.disk, "runs": rows}


def dry_run(
    recipe: RecipeSource,
    overrides: Overrides = (),
    workspace: Path | str = ".",
    *,
    where: str | None = None,
    overwrite: bool = False,
    launcher: str = "local",
    processes: int | None = None,
) -> DryRun:
    """What `train`, `study` or `experts.train` of a recipe would train, and what that takes.

    The text must be prepared. where: which runs of a study, as in `shape == '0.1M'`. overwrite,
    launcher, processes: as of `study`.
    """
    workspace, loaded = Path(workspace), load_recipe(recipe, overrides)
    checked = check_prepared(loaded, workspace, launcher, processes)
    if loaded.experts:
        pairs = expert_runs(plan_rounds(loaded, workspace, make=True), workspace)
    else:
        pairs = [*checked.sweep, *_chosen(checked, where)]
    at_once = checked.at_once
    cost = measure_cost(pairs, workspace, at_once, launcher, processes, overwrite=overwrite)
    return DryRun(tuple(pairs), cost, checked.disk)


def study(
    recipe: RecipeSource,
    overrides: Overrides = (),
    workspace: Path | str = ".",
    *,
    where: str | None = None,
    overwrite: bool = False,
    launcher: str = "local",
    processes: int | None = None,
    quiet: bool = False,
) -> Path:
    """Train all runs of a recipe's study; returns their folder, `runs/NAME`.

    The text must be prepared. Safe to interrupt; call it again to resume. where: which runs, as in
    `shape == '0.1M'`. Of a recipe with a `pilot` they are its small runs, by which its large
    run is forecast, in `forecast.json` of that folder. overwrite: overwrite runs made with other
    settings. launcher: what starts them, such as `local`, `ray` or `slurm:partition=gpu`.
    processes: of each run, by torchrun.
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
    pairs = _chosen(checked, where)
    planned = [*checked.sweep, *pairs]
    at_once = checked.at_once
    cost = measure_cost(planned, workspace, at_once, launcher, processes, overwrite=overwrite)
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
                complete=where is None,
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
        pairs = _chosen(check_prepared(loaded, workspace, launcher, processes), where)
    run([plan for plan, _ in pairs], loaded.name)
    folder = workspace / "runs" / loaded.name
    if loaded.pilot and where is None:
        forecast = forecast_large_run(loaded, workspace)
        write_json(folder / "forecast.json", forecast.to_json())
        for line in (text_table(forecast.rows()), *forecast.remarks()):
            voice.say(line)
    return folder


def check_study(recipe: RecipeSource, loaded: Recipe) -> None:
    """Refuse a recipe that has no study and no pilot."""
    if not (loaded.study or loaded.pilot):
        what = "there is no `study` or `pilot` section"
        raise UserError(what, where=where_of(recipe), hint="see `tongues train`")


def _chosen(checked: Checked, where: str | None) -> Sequence[Pair]:
    return choose_plans(checked.runs, where) if where else checked.runs
