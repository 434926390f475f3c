"""A pilot from beginning to end: two rounds of small runs, each designed by what is believed."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.quantities import show_count
from tongues.recipe import Recipe
from tongues.runs import read_run, status_of
from tongues.study.pilot.advice import Advice, Settled, advise, around, first_guess, settle
from tongues.study.pilot.belief import Belief
from tongues.study.pilot.candidates import Candidate, Means, candidates, means_of
from tongues.study.pilot.design import Forecast, choose_runs, cost_of, forecast, with_parents
from tongues.study.pilot.prior import Point, Scale
from tongues.study.pilot.trial import Frame, Measured, believe, read_losses
from tongues.tokens.store import read_manifest
from tongues.train import RunPlan

__all__ = ["Pilot", "begin", "conduct", "plan_pilot"]

_FIRST = 0.4  # of the budget, for the round that is designed before any run
_CHOICE = (1 / 3, 3.0)  # times the size of the real run, among which it is chosen
_LOSS = 0.45  # of blind guessing: where small runs end, about


@dataclass(frozen=True, slots=True, eq=False)
class Pilot:
    """A pilot as it stands: what it may spend, its runs so far, and what they leave to believe."""

    recipe: Recipe
    means: Means
    settled: Settled
    options: tuple[Candidate, ...]
    frame: Frame
    runs: tuple[Candidate, ...]
    measured: tuple[Measured, ...]
    beliefs: Mapping[str, Belief]
    advice: Advice | None
    lost: tuple[str, ...] = ()  # runs that diverged

    @property
    def plans(self) -> list[RunPlan]:
        """The runs chosen so far, bases before those that continue from them."""
        return [run.plan for run in with_parents(self.runs)]

    @property
    def real(self) -> dict[str, Point]:
        """The real run as it is thought of now, by role, with numbers only."""
        if self.advice is None:
            points, S = first_guess(self.recipe, self.means, self.settled), self.frame.scale.loss
            return {role: replace(point, S=S) for role, point in points.items()}
        points = self.advice.points
        return {role: replace(p, S=float(np.median(p.S))) for role, p in points.items()}

    @property
    def forecast(self) -> Forecast:
        """What further runs would tell of the real run, first by its roles as they stand.

        Where its size is to be chosen, smaller and larger ones are to be known as well.
        """
        real = list(self.real.values())
        others = [
            other
            for role, params in (
                ("scratch", self.settled.params),
                ("cpt", self.settled.base or self.settled.params),
            )
            if not params
            for other in around(self.real[role], _CHOICE)
        ]
        return forecast(self.beliefs, self.options, [*real, *others])


def begin(recipe: Recipe, workspace: Path) -> Pilot:
    """The pilot of a recipe before any run; its text must be prepared."""
    manifest = read_manifest(workspace / "tokens" / recipe.name)
    vocabulary = manifest["vocabulary_size"]
    available = {lang: one["train"]["tokens"] for lang, one in manifest["languages"].items()}
    means = means_of(recipe, vocabulary, available)
    options = candidates(recipe, means)
    points = [point for one in options for point in one.points]
    loss = _LOSS * math.log(vocabulary)
    scale = Scale(_middle(point.N for point in points), _middle(point.D for point in points), loss)
    start = math.log10(min(one.flops for one in with_parents(options)))
    frame = Frame(scale, start, recipe.train.seed)
    beliefs = believe([], frame)
    settled = settle(recipe, workspace, vocabulary)
    return Pilot(recipe, means, settled, tuple(options), frame, (), (), beliefs, None)


def extend(pilot: Pilot, share: float) -> Pilot:
    """The same with the runs that tell most, up to a share of its budget."""
    left = share * pilot.means.budget - cost_of(pilot.runs)
    new = choose_runs(pilot.forecast, pilot.options, left, pilot.runs)
    return replace(pilot, runs=(*pilot.runs, *new))


def without(pilot: Pilot, names: Collection[str]) -> Pilot:
    """The same without these runs, those that continue from them, and the wish to have them."""

    def stands(one: Candidate) -> bool:
        return one.name not in names and (one.parent is None or one.parent.name not in names)

    options = tuple(one for one in pilot.options if stands(one))
    runs = tuple(one for one in pilot.runs if stands(one))
    return replace(pilot, options=options, runs=runs, lost=(*pilot.lost, *names))


def plan_pilot(recipe: Recipe, workspace: Path) -> Pilot:
    """A pilot with the runs of its first round, none of them trained; the text is prepared."""
    return extend(begin(recipe, workspace), _FIRST)


def conduct(
    recipe: Recipe,
    workspace: Path,
    train: Callable[[Sequence[RunPlan]], None],
    tell: Callable[[str], None],
) -> Pilot:
    """Train the runs of a pilot in two rounds, and learn from each.

    A run that diverged is told and left out, and others are chosen for what it was to cost.
    """
    pilot = begin(recipe, workspace)
    for number, share in enumerate((_FIRST, 1.0), start=1):
        pilot = extend(pilot, share)
        while lost := _attempt(pilot, workspace, train, tell, number):
            pilot = extend(without(pilot, lost), share)
        pilot = learned(pilot, workspace)
    return pilot


def _attempt(
    pilot: Pilot,
    workspace: Path,
    train: Callable[[Sequence[RunPlan]], None],
    tell: Callable[[str], None],
    number: int,
) -> list[str]:
    """Train what is chosen by now, unless some of it diverged already; returns what did."""
    if lost := _diverged(pilot.runs, workspace):
        return lost
    spent = cost_of(pilot.runs)
    tell(
        f"round {number}: {len(pilot.plans)} runs by now, {show_count(spent)} FLOPs, "
        f"{spent / pilot.means.real:.2%} of the real run's"
    )
    try:
        train(pilot.plans)
    except UserError:
        lost = _diverged(pilot.runs, workspace)
        if not lost or _unfinished(without(pilot, lost), workspace):
            raise
    for name in lost:
        tell(f"{name} diverged and is left out; others take its place")
    return lost


def learned(pilot: Pilot, workspace: Path) -> Pilot:
    """The same with the losses that its runs ended at, and what follows from them."""
    folder = workspace / "runs" / pilot.recipe.name
    measured = tuple(read_losses(with_parents(pilot.runs), folder))
    beliefs = believe(measured, pilot.frame)
    advice = advise(pilot.recipe, pilot.means, pilot.settled, beliefs)
    return replace(pilot, measured=measured, beliefs=beliefs, advice=advice)


def _diverged(runs: Iterable[Candidate], workspace: Path) -> list[str]:
    """The runs that, as they are meant now, no further attempt would bring to an end."""
    found: list[str] = []
    for one in with_parents(runs):
        directory = workspace / "runs" / one.name
        if status_of(directory) == "diverged":
            same = read_run(directory).settings == one.plan.identity()
            found += [one.name] if same else []
    return found


def _unfinished(pilot: Pilot, workspace: Path) -> bool:
    names = [plan.name for plan in pilot.plans]
    return any(status_of(workspace / "runs" / name) != "finished" for name in names)


def _middle(values) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))
