"""The next steps after a pilot: the recipe of the real run, what would change it, more runs."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.laws.inverse import find_replay
from tongues.quantities import show_count
from tongues.recipe import Recipe, Train
from tongues.study.pilot.rounds import PilotState
from tongues.study.pilot.selection import with_parents
from tongues.train.base import PLACEHOLDER_BASE
from tongues.train.rules import nearest_shape

__all__ = ["ExtraRun", "changes", "extra_runs", "real_recipe"]

_NAMED = 3
_FAR = 100.0  # times less and more of the budget, within which another strategy may win
_POINTS = 201
_HALF = 1.96
_WAYS = {True: "continuing", False: "training from scratch"}


@dataclass(frozen=True, slots=True)
class ExtraRun:
    """A run that was not trained: its cost, and the intervals after it.

    before, after: half the 95 % interval of each loss of the real run, as a share of it.
    """

    run: str
    flops: float
    before: dict[str, float]
    after: dict[str, float]


def extra_runs(pilot: PilotState) -> list[ExtraRun]:
    """The most informative runs that are left, each with the base it needs."""
    assert pilot.advice
    forecast, roles = pilot.forecast, list(pilot.advice.points)
    names = [one.name for one in with_parents(pilot.runs)]

    def halves(after: list[str]) -> dict[str, float]:
        widths = _HALF * np.sqrt(forecast.left(after).mean(0))
        return dict(zip(roles, widths.tolist(), strict=False))

    left = [one for one in pilot.options if one.name not in names]
    gains, before = forecast.gains(names, left), halves(names)
    more: list[ExtraRun] = []
    for one in sorted(left, key=lambda one: -gains[one.name])[:_NAMED]:
        new = [run for run in with_parents([one]) if run.name not in names]
        after = halves([*names, *(run.name for run in new)])
        more.append(ExtraRun(one.name, sum(run.flops for run in new), before, after))
    return more


def changes(pilot: PilotState) -> Iterator[str]:
    """Sentences on what would change the advice."""
    advice, real = pilot.advice, pilot.means.real
    assert advice
    scratch, cpt = (advice.options.get(name) for name in ("scratch", "cpt"))
    if scratch and cpt:
        factors = np.geomspace(1.0 / _FAR, _FAR, _POINTS)
        losses = [option.way.loss(option.flops * factors) for option in (scratch, cpt)]
        ahead = np.asarray(losses[1] < losses[0])
        turns = np.flatnonzero(ahead[1:] != ahead[:-1])
        if turns.size:
            nearest = turns[np.argmin(np.abs(turns - _POINTS // 2))]
            factor = math.sqrt(factors[nearest] * factors[nearest + 1])
            times = (
                f"{factor:.2g} times this budget" if factor > 1 else f"{1 / factor:.2g} times less"
            )
            winner = _WAYS[bool(ahead[nearest + 1])]
            turn = show_count(factor * real)
            yield f"The budget: from {turn} FLOPs ({times}) on, {winner} is ahead."
        else:
            yield (
                f"No budget from {_FAR:g} times less to {_FAR:g} times more: "
                f"{_WAYS[bool(ahead[0])]} stays ahead by these laws."
            )
        if advice.taken.way.strategy == "cpt":
            base, loss = advice.points["source"].flops, advice.taken.loss
            alone = float(scratch.way.loss(np.array(scratch.flops * (1.0 + base / real))))
            still = "still ahead" if loss < alone else "behind"
            yield (
                f"The base: were it to be trained first ({show_count(base)} FLOPs more), "
                f"continuing would be {still}: {loss:.4g} against {alone:.4g} from scratch for as "
                "much."
            )
    known, point = advice.plan.laws.find("forgetting"), advice.points["forgetting"]
    if known and cpt:
        S = advice.plan.question.source_loss or float(np.median(point.S))
        for keep in (advice.keep / 2, 2 * advice.keep):
            try:
                share = float(f"{find_replay(known.law, keep, point.D, S).share:.2g}")
                what = f"takes a share of {share:.0%} replay"
            except UserError:
                what = "is out of reach by replay"
            yield f"The tolerance: keeping the source within {keep:.2%} {what}."


def real_recipe(pilot: PilotState) -> tuple[Recipe, list[str]]:
    """The recipe of the real run, and remarks on it."""
    recipe, wanted = pilot.recipe, pilot.recipe.pilot
    assert pilot.advice
    assert wanted
    taken, remarks = pilot.advice.taken, []
    params = taken.params or pilot.advice.points[taken.way.strategy].N
    shape, count = nearest_shape(params, pilot.means.vocabulary)
    of_base = taken.way.strategy == "cpt" and taken.way.base  # whose shape counts
    train: dict[str, Any] = {
        "mixture": {wanted.target: 1.0},
        "budget": f"{round(taken.flops / (6.0 * (params if of_base else count)))} tokens",
        "run": f"{recipe.name}-real",
        "eval_languages": [wanted.target],
        "base": None,
    }
    if taken.way.strategy == "cpt":
        train["replay"] = {wanted.source: taken.way.replay} if taken.way.replay else {}
        train["eval_languages"] = [wanted.target, wanted.source]
        model = recipe.train.base_model or PLACEHOLDER_BASE
        train["base"] = {"model": model, "languages": [wanted.source]}
        if recipe.train.base is None:
            remarks.append(
                f"The base: `train.base` in real.yaml must name a model of shape {shape.name} "
                f"trained on `{wanted.source}`; continuing presumes it and does not count its cost."
            )
    off = 0.0 if of_base else count / params - 1.0
    if abs(off) > 0.005:
        remarks.append(
            f"The shape nearest to {show_count(params)} parameters is {shape.name} ({off:+.0%})."
        )
    named = recipe.train.model_dump(mode="json", exclude_unset=True)  # the rest is by the base
    settings = Train.model_validate(named | train)
    model = recipe.model.model_copy(update={"shape": None if of_base else shape.name})
    changed = {"pilot": None, "train": settings, "model": model}
    return recipe.model_copy(update=changed), remarks
