"""A pilot from beginning to end: two rounds of small runs, each chosen by what is known so far."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.laws.observed import gather_runs
from tongues.laws.uncertainty import percentiles
from tongues.quantities import show_count
from tongues.recipe import Recipe
from tongues.runs import read_run, run_rows, status_of
from tongues.study.pilot.advice import PilotAdvice, Settled, advise_run, around, first_guess, settle
from tongues.study.pilot.blocks import (
    BLOCKS,
    Frame,
    KnownLosses,
    PilotBelief,
    Point,
    believe_block,
)
from tongues.study.pilot.candidates import Candidate, PilotBudget, candidates, means_of
from tongues.study.pilot.known import known_losses
from tongues.study.pilot.selection import Forecast, choose_runs, cost_of, forecast, with_parents
from tongues.tokens.store import read_manifest
from tongues.train import RunPlan

__all__ = ["Held", "MeasuredLoss", "PilotState", "begin", "extend", "hold_out", "learned"]
__all__ += ["plan_pilot", "run_pilot"]

_FIRST = 0.4  # of the budget, for the round before any run
_CHOICE = (1 / 3, 3.0)  # times the size of the real run, among which it is chosen
_FEWEST = 2  # other losses of a role, from which its largest is predicted
_LOSS = 0.45  # of blind guessing: where small runs end, about


@dataclass(frozen=True, slots=True)
class MeasuredLoss:
    """The final loss of a run at a point, nats per token."""

    run: str
    point: Point
    loss: float


@dataclass(frozen=True, slots=True)
class Held:
    """The largest run of a role, predicted from the smaller ones: middle and 95 % interval.

    rank: the two-sided share of draws at least as far out as the measured loss.
    """

    measured: MeasuredLoss
    middle: float
    low: float
    high: float
    rank: float

    @property
    def inside(self) -> bool:
        """Whether the measured loss is in the interval."""
        return self.low <= self.measured.loss <= self.high


@dataclass(frozen=True, slots=True, eq=False)
class PilotState:
    """What a pilot may spend, its runs so far, and what is known before and by them.

    known: of each block whose language the catalogue has. lost: runs that diverged.
    """

    recipe: Recipe
    means: PilotBudget
    settled: Settled
    options: tuple[Candidate, ...]
    frame: Frame
    runs: tuple[Candidate, ...]
    measured: tuple[MeasuredLoss, ...]
    beliefs: Mapping[str, PilotBelief]
    advice: PilotAdvice | None
    known: Mapping[str, KnownLosses]
    lost: tuple[str, ...] = ()

    @property
    def plans(self) -> list[RunPlan]:
        """The runs chosen so far, bases before those that continue from them."""
        return [run.plan for run in with_parents(self.runs)]

    @property
    def forecast(self) -> Forecast:
        """The losses of further runs together with those of the real run, first by its roles.

        Where its size is to be chosen, smaller and larger ones are to be known as well.
        """
        settled = self.settled
        guess = first_guess(self.recipe, self.means, settled)
        points = {role: replace(point, S=self.frame.loss) for role, point in guess.items()}
        points = self.advice.points if self.advice else points
        real = {role: replace(p, S=float(np.median(p.S))) for role, p in points.items()}
        sizes = {"scratch": settled.params, "cpt": settled.base or settled.params}
        open_sizes = [role for role, size in sizes.items() if not size]
        others = [other for role in open_sizes for other in around(real[role], _CHOICE)]
        options = {one.name: one.points for one in with_parents(self.options)}
        return forecast(self.beliefs, options, [*real.values(), *others])


def begin(recipe: Recipe, workspace: Path) -> PilotState:
    """The pilot of a recipe before any run; its text must be prepared."""
    manifest = read_manifest(workspace / "tokens" / recipe.name)
    vocabulary = manifest["vocabulary_size"]
    available, per_token = (
        {lang: one["train"][key] for lang, one in manifest["languages"].items()}
        for key in ("tokens", "bytes_per_token")
    )
    means = means_of(recipe, vocabulary, available, per_token)
    options = candidates(recipe, means)
    points = [point for one in options for point in one.points]
    N, D = (
        math.exp(sum(math.log(getattr(point, name)) for point in points) / len(points))
        for name in "ND"
    )
    start = math.log10(min(one.flops for one in with_parents(options)))
    frame = Frame(N, D, _LOSS * math.log(vocabulary), start, recipe.train.seed)
    settled = settle(recipe, workspace, vocabulary)
    assert recipe.pilot
    languages = {"target": recipe.pilot.target, "source": recipe.pilot.source}
    known = known_losses(languages, options, first_guess(recipe, means, settled), means)
    beliefs = _believe([], frame, known)
    return PilotState(recipe, means, settled, tuple(options), frame, (), (), beliefs, None, known)


def extend(pilot: PilotState, share: float) -> PilotState:
    """The same with the most informative runs, up to a share of its budget."""
    left = share * pilot.means.budget - cost_of(pilot.runs)
    new = choose_runs(pilot.forecast, pilot.options, left, pilot.runs)
    return replace(pilot, runs=(*pilot.runs, *new))


def plan_pilot(recipe: Recipe, workspace: Path) -> PilotState:
    """A pilot with the runs of its first round, none of them trained; the text is prepared."""
    return extend(begin(recipe, workspace), _FIRST)


def run_pilot(
    recipe: Recipe,
    workspace: Path,
    train: Callable[[Sequence[RunPlan]], None],
    tell: Callable[[str], None],
) -> PilotState:
    """Train the small runs of a pilot in two rounds, and learn from each.

    Safe to interrupt: all decisions follow from the recipe and the losses of the runs. A run that
    diverged is left out, and others are chosen for its cost. train: trains runs in the workspace.
    """
    pilot = begin(recipe, workspace)
    for number, share in enumerate((_FIRST, 1.0), start=1):
        pilot = extend(pilot, share)
        while lost := _attempt(pilot, workspace, train, tell, number):
            pilot = extend(_without(pilot, lost), share)
        pilot = learned(pilot, workspace)
    return pilot


def _attempt(
    pilot: PilotState,
    workspace: Path,
    train: Callable[[Sequence[RunPlan]], None],
    tell: Callable[[str], None],
    number: int,
) -> list[str]:
    """Train the chosen runs, unless some of them diverged already; returns those that did."""
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
        others = (workspace / "runs" / plan.name for plan in _without(pilot, lost).plans)
        if not lost or any(status_of(directory) != "finished" for directory in others):
            raise
    for name in lost:
        tell(f"{name} diverged and is left out; others take its place")
    return lost


def _without(pilot: PilotState, names: Collection[str]) -> PilotState:
    """Without these runs and those that continue from them, also among the options."""
    options, runs = (
        tuple(one for one in of if not {one.name, one.parent and one.parent.name} & {*names})
        for of in (pilot.options, pilot.runs)
    )
    return replace(pilot, options=options, runs=runs, lost=(*pilot.lost, *names))


def _diverged(runs: Iterable[Candidate], workspace: Path) -> list[str]:
    """The runs that diverged with the settings that they have now."""
    places = [(one, workspace / "runs" / one.name) for one in with_parents(runs)]
    return [
        one.name
        for one, place in places
        if status_of(place) == "diverged" and read_run(place).settings == one.plan.identity()
    ]


def learned(pilot: PilotState, workspace: Path) -> PilotState:
    """The same with the final losses of its runs, and what follows from them.

    Losses before the end are left out: the learning rate has yet to come down.
    """
    runs, names = with_parents(pilot.runs), {run.name for run in with_parents(pilot.runs)}
    rows = (
        row for row in run_rows([workspace / "runs" / pilot.recipe.name]) if row["run"] in names
    )
    trained = {run.name: run for run in gather_runs(rows)}
    if missing := names - trained.keys():
        raise UserError("was not trained to its end", where=min(missing))
    measured: list[MeasuredLoss] = []
    for run in runs:
        for point in run.points:
            curve = trained[run.name].learned
            if point.role == "forgetting":
                curve = trained[run.name].curves[run.plan.roles.base_languages[0]]
                point = replace(point, S=float(curve.loss[0]))
            measured.append(MeasuredLoss(run.name, point, float(curve.loss[-1])))
    beliefs = _believe(measured, pilot.frame, pilot.known)
    advice = advise_run(pilot.recipe, pilot.means, pilot.settled, beliefs)
    return replace(pilot, measured=tuple(measured), beliefs=beliefs, advice=advice)


def _believe(
    measured: Sequence[MeasuredLoss], frame: Frame, known: Mapping[str, KnownLosses]
) -> dict[str, PilotBelief]:
    return {name: _learn(name, measured, frame, known.get(name)) for name in BLOCKS}


def _learn(
    name: str, measured: Iterable[MeasuredLoss], frame: Frame, known: KnownLosses | None
) -> PilotBelief:
    own = [one for one in measured if one.point.role in BLOCKS[name].roles]
    points, losses = [one.point for one in own], [one.loss for one in own]
    return believe_block(name, points, losses, frame, known=known)


def hold_out(pilot: PilotState) -> list[Held]:
    """The largest run of each role, predicted from the smaller ones of its block."""
    measured, held = pilot.measured, list[Held]()
    for role, name in ((role, of.name) for of in BLOCKS.values() for role in of.roles):
        own = [one for one in measured if one.point.role == role]
        if len(own) > _FEWEST:
            largest = max(own, key=lambda one: one.point.flops)
            smaller = (one for one in measured if one.point.flops < largest.point.flops)
            belief = _learn(name, smaller, pilot.frame, pilot.known.get(name))
            predicted = belief.predicted(largest.point)
            low, high = percentiles(predicted)
            middle, above = float(np.median(predicted)), float(np.mean(predicted > largest.loss))
            held.append(
                Held(largest, middle, float(low), float(high), 2.0 * min(above, 1.0 - above))
            )
    return held
