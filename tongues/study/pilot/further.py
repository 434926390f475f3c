"""What would change a pilot's advice, and what one more run would tell."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tongues.errors import UserError
from tongues.laws.replay import advise_replay
from tongues.quantities import show_count
from tongues.study.pilot.advice import Advice
from tongues.study.pilot.design import Forecast, with_parents
from tongues.study.pilot.rounds import Pilot

__all__ = ["Further", "changes", "one_more_run"]

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
