"""The best rate: tried on source models of small shapes, and carried up by rule."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.recipe import Recipe
from tongues.runs import run_rows, status_of
from tongues.study.grid import plan_runs, plan_source
from tongues.train import RunPlan

__all__ = ["best_rates", "plan_study", "plan_sweep", "unfinished"]


def plan_study(recipe: Recipe, workspace: Path) -> list[RunPlan]:
    """The runs of a recipe, at the rates that its sweep found, once all of that is done."""
    sweep = plan_sweep(recipe)
    done = sweep and not unfinished(sweep, workspace)
    return plan_runs(recipe, workspace, best_rates(sweep, workspace)[0] if done else None)


def unfinished(plans: Sequence[RunPlan], workspace: Path) -> list[str]:
    """The runs of a sweep that have still something to tell: neither finished nor diverged."""
    told = ("finished", "diverged")
    return [plan.name for plan in plans if status_of(workspace / "runs" / plan.name) not in told]


def plan_sweep(recipe: Recipe) -> list[RunPlan]:
    """A source model of every shape and rate of the sweep, with the study's first seed.

    They lie in a folder of their own, since no law is to be fitted on them.
    """
    study = recipe.study
    if study is None or study.sweep is None:
        return []
    return [
        plan_source(
            recipe,
            study.source,
            shape,
            study.seeds[0],
            folder=f"{recipe.name}-sweep",
            name=f"{shape}-rate{rate:g}",
            settings=recipe.train.model_copy(update={"rate": rate}),
        )
        for shape in study.sweep.shapes
        for rate in study.sweep.rates
    ]


def best_rates(plans: Sequence[RunPlan], workspace: Path) -> tuple[dict[str, float], list[str]]:
    """The best rate of each shape, and what to doubt in it, from the finished runs of a sweep.

    The lowest point of a parabola in the logarithm of the rate, through the lowest loss and its
    two neighbours; runs that diverged count as worse than any.
    """
    found: dict[str, float] = {}
    doubts: list[str] = []
    for shape in dict.fromkeys(plan.shape.name for plan in plans if plan.shape):
        losses = {
            rate: _final_loss(workspace / "runs" / plan.name)
            for plan in plans
            if plan.shape and plan.shape.name == shape
            for rate in [plan.settings.rate]
            if isinstance(rate, float)
        }
        rates = sorted(losses)
        best = min(range(len(rates)), key=lambda place: losses[rates[place]])
        if math.isinf(losses[rates[best]]):
            what = f"no run of shape {shape} ended with any of the rates"
            raise UserError(what, where="study.sweep.rates", hint="try lower ones")
        found[shape] = rates[best]
        if best in (0, len(rates) - 1):
            end = "lowest" if best == 0 else "highest"
            doubts.append(
                f"the best rate of {shape} is the {end} that was tried, {rates[best]:g}: the best "
                "of all may lie beyond it"
            )
            continue
        near = rates[best - 1 : best + 2]
        if all(math.isfinite(losses[rate]) for rate in near):
            found[shape] = _lowest([math.log(rate) for rate in near], [losses[r] for r in near])
    return found, doubts


def _lowest(logs: Sequence[float], losses: Sequence[float]) -> float:
    """The rate at the bottom of the parabola through three points, whose middle is the lowest."""
    squared, linear, _ = np.polyfit(logs, losses, 2)
    return math.exp(-linear / (2 * squared)) if squared > 0 else math.exp(logs[1])


def _final_loss(directory: Path) -> float:
    """On held-out text at the end; infinite of a run that is not finished."""
    if status_of(directory) != "finished":
        return math.inf
    return max(run_rows([directory]), key=lambda row: row["step"])["loss"]
