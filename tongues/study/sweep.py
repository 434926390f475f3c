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
    done = ("finished", "diverged")
    return [plan.name for plan in plans if status_of(workspace / "runs" / plan.name) not in done]


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
            name=f"{recipe.name}-sweep/{shape}-rate{rate:g}",
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
    losses: dict[str, dict[float, float]] = {}
    for plan in plans:
        directory, rate, loss = workspace / "runs" / plan.name, plan.settings.rate, math.inf
        if status_of(directory) == "finished":
            loss = max(run_rows([directory]), key=lambda row: row["step"])["loss"]
        if plan.shape and isinstance(rate, float):
            losses.setdefault(plan.shape.name, {})[rate] = loss
    rates: dict[str, float] = {}
    doubts: list[str] = []
    for shape, of_rate in losses.items():
        tried = sorted(of_rate)
        best = min(range(len(tried)), key=lambda place: of_rate[tried[place]])
        rates[shape] = tried[best]
        if math.isinf(of_rate[tried[best]]):
            what = f"no run of shape {shape} ended with any of the rates"
            raise UserError(what, where="study.sweep.rates", hint="try lower ones")
        if best in (0, len(tried) - 1):
            end = "lowest" if best == 0 else "highest"
            doubts.append(
                f"the best rate of {shape} is the {end} that was tried, {tried[best]:g}: the best "
                "of all may lie beyond it"
            )
            continue
        near = tried[best - 1 : best + 2]
        if all(math.isfinite(of_rate[rate]) for rate in near):
            squared, linear, _ = np.polyfit(
                list(map(math.log, near)), [of_rate[r] for r in near], 2
            )
            if squared > 0:
                rates[shape] = math.exp(-linear / (2 * squared))
    return rates, doubts
