"""What follows from a pilot: the real run's recipe, what would change it, and one more run."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.laws.replay import advise_replay
from tongues.plan.written import PLACEHOLDER_BASE
from tongues.quantities import show_count
from tongues.recipe import Recipe, Train
from tongues.study.pilot.advice import Advice
from tongues.study.pilot.design import Forecast, with_parents
from tongues.study.pilot.rounds import Pilot
from tongues.train.rules import nearest_shape

__all__ = ["Further", "changes", "one_more_run", "real_recipe"]

_NAMED = 3
_FAR = 100.0  # times less and more of the budget, within which another strategy may win
_POINTS = 201
_HALF = 1.96


@dataclass(frozen=True, slots=True)
class Further:
    """A run that was not trained: its price, and how wide the intervals would be after it.

    before, after: half the 95 % interval of each loss of the real run, as a share of it.
    """

    run: str
    flops: float
    before: dict[str, float]
    after: dict[str, float]


def one_more_run(pilot: Pilot) -> list[Further]:
    """The runs that would tell most of the real one now, each with the base it still needs."""
    assert pilot.advice
    forecast, roles = pilot.forecast, list(pilot.advice.points)
    names = [one.name for one in with_parents(pilot.runs)]
    left = [one for one in pilot.options if one.name not in names]
    gains = forecast.gains(names, left)
    best = sorted(left, key=lambda one: -gains[one.name])[:_NAMED]
    before = _halves(forecast, names, roles)
    found: list[Further] = []
    for one in best:
        new = [run for run in with_parents([one]) if run.name not in names]
        after = _halves(forecast, [*names, *(run.name for run in new)], roles)
        found.append(Further(one.name, sum(run.flops for run in new), before, after))
    return found


def _halves(forecast: Forecast, names: list[str], roles: list[str]) -> dict[str, float]:
    widths = _HALF * np.sqrt(forecast.left(names).mean(0))
    return dict(zip(roles, widths.tolist(), strict=False))


def changes(pilot: Pilot) -> list[str]:
    """Sentences on what would lead to another advice."""
    assert pilot.advice
    return [*_budgets(pilot), *_base_paid(pilot), *_tolerances(pilot.advice)]


def _budgets(pilot: Pilot) -> Iterator[str]:
    """At which budgets the other strategy would do better."""
    advice = pilot.advice
    assert advice
    if len(advice.options) < 2:
        return
    factors = np.geomspace(1.0 / _FAR, _FAR, _POINTS)
    scratch, cpt = (
        advice.options[name].way.loss(advice.options[name].flops * factors)
        for name in ("scratch", "cpt")
    )
    ahead = np.asarray(cpt < scratch)
    turns = np.flatnonzero(ahead[1:] != ahead[:-1])
    if not turns.size:
        best = "continuing" if ahead[0] else "training from scratch"
        yield (
            f"No budget from {_FAR:g} times less to {_FAR:g} times more: {best} stays ahead by "
            "these laws."
        )
        return
    middle = _POINTS // 2
    nearest = turns[np.argmin(np.abs(turns - middle))]
    factor = math.sqrt(factors[nearest] * factors[nearest + 1])
    winner = "continuing" if ahead[nearest + 1] else "training from scratch"
    times = f"{factor:.2g} times this budget" if factor > 1 else f"{1 / factor:.2g} times less"
    turn = show_count(factor * pilot.means.real)
    yield f"The budget: from {turn} FLOPs ({times}) on, {winner} is ahead."


def _base_paid(pilot: Pilot) -> Iterator[str]:
    """Whether continuing would still pay if its base had to be trained first."""
    advice = pilot.advice
    assert advice
    if len(advice.options) < 2 or advice.taken.way.strategy != "cpt":
        return
    base = advice.points["source"].flops
    both = 1.0 + base / pilot.means.real
    scratch = advice.options["scratch"]
    alone = float(scratch.way.loss(np.array(scratch.flops * both)))
    still = "still ahead" if advice.taken.loss < alone else "behind"
    yield (
        f"The base: were it to be trained first ({show_count(base)} FLOPs more), continuing would "
        f"be {still}: {advice.taken.loss:.4g} against {alone:.4g} from scratch for as much."
    )


def _tolerances(advice: Advice) -> Iterator[str]:
    """The share of replay under a stricter and a looser wish to keep the source."""
    law = next((one.law for one in advice.plan.laws.known if one.role == "forgetting"), None)
    point = advice.points["forgetting"]
    if law is None or "cpt" not in advice.options:
        return
    S = advice.plan.question.source_loss or float(np.median(point.S))
    for keep in (advice.keep / 2, 2 * advice.keep):
        try:
            share = f"{advise_replay(law, keep, point.D, S).share:.2g}"
            said = f"takes a share of {float(share):.0%} replay"
        except UserError:
            said = "is out of reach by replay"
        yield f"The tolerance: keeping the source within {keep:.2%} {said}."


def real_recipe(pilot: Pilot) -> tuple[Recipe, list[str]]:
    """The recipe of the real run, and what to look after in it."""
    assert pilot.advice
    assert pilot.recipe.pilot
    recipe, taken, remarks = pilot.recipe, pilot.advice.taken, []
    asked, vocabulary = recipe.pilot, pilot.means.vocabulary
    assert asked
    params = taken.params or pilot.advice.points[taken.way.strategy].N
    shape, count = nearest_shape(params, vocabulary)
    name = shape.name
    tokens = round(taken.flops / (6.0 * count))
    train: dict[str, Any] = {
        "mixture": {asked.target: 1.0},
        "budget": f"{tokens} tokens",
        "run": f"{recipe.name}-real",
        "evaluate": [asked.target],
    }
    if taken.way.strategy == "cpt":
        if taken.way.base:  # whose shape counts
            name, count = None, params
            train["budget"] = f"{round(taken.flops / (6.0 * params))} tokens"
        train["replay"] = {asked.source: taken.way.replay} if taken.way.replay else {}
        train["evaluate"] = [asked.target, asked.source]
        model = recipe.train.base_model or PLACEHOLDER_BASE
        train["base"] = {"model": model, "languages": [asked.source]}
        if recipe.train.base is None:
            remarks.append(
                f"The base: `train.base` in real.yaml must name a model of shape {shape.name} "
                f"trained on `{asked.source}`; continuing presumes it and does not count its cost."
            )
    else:
        train["base"] = None
    off = count / params - 1.0
    if abs(off) > 0.005:
        remarks.append(
            f"The shape nearest to {show_count(params)} parameters is {shape.name} ({off:+.0%})."
        )
    settings = Train.model_validate(recipe.train.model_dump(mode="json") | train)
    model = recipe.model.model_copy(update={"shape": name})
    changed = {"pilot": None, "train": settings, "model": model}
    return recipe.model_copy(update=changed), remarks
