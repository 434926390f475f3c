"""A pilot from beginning to end: two rounds of small runs, each designed by what is believed."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.launch import Launcher
from tongues.laws.observed import gather_runs
from tongues.laws.uncertainty import percentiles
from tongues.quantities import show_count
from tongues.recipe import Recipe
from tongues.runs import read_run, run_rows, status_of
from tongues.study.driver import State, run_all
from tongues.study.pilot.advice import PilotAdvice, Settled, advise_run, around, first_guess, settle
from tongues.study.pilot.belief import BLOCKS, Frame, PilotBelief, Point, believe_block
from tongues.study.pilot.candidates import Candidate, PilotBudget, candidates, means_of
from tongues.study.pilot.design import Forecast, choose_runs, cost_of, forecast, with_parents
from tongues.tokens.store import read_manifest
from tongues.train import RunPlan

__all__ = [
    "Held",
    "MeasuredLoss",
    "PilotState",
    "begin",
    "conduct",
    "hold_out",
    "plan_pilot",
    "run_pilot",
]

_FIRST = 0.4  # of the budget, for the round that is designed before any run
_CHOICE = (1 / 3, 3.0)  # times the size of the real run, among which it is chosen
_FEWEST = 2  # other losses of a role, from which its largest is foretold
_LOSS = 0.45  # of blind guessing: where small runs end, about


@dataclass(frozen=True, slots=True)
class MeasuredLoss:
    """A loss that a run ended at, nats per token; the point says which."""

    run: str
    point: Point
    loss: float


@dataclass(frozen=True, slots=True)
class Held:
    """The largest run of a role, foretold from the smaller ones: middle and 95 % interval.

    rank: share of the draws that lie at least as far out as what was measured, on either side.
    """

    measured: MeasuredLoss
    middle: float
    low: float
    high: float
    rank: float

    @property
    def inside(self) -> bool:
        """Whether the measured loss lies within."""
        return self.low <= self.measured.loss <= self.high


@dataclass(frozen=True, slots=True, eq=False)
class PilotState:
    """A pilot as it stands: what it may spend, its runs so far, and what they leave to believe.

    lost: runs that diverged.
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
    lost: tuple[str, ...] = ()

    @property
    def plans(self) -> list[RunPlan]:
        """The runs chosen so far, bases before those that continue from them."""
        return [run.plan for run in with_parents(self.runs)]

    @property
    def real(self) -> dict[str, Point]:
        """The real run as it is thought of now, by role, with numbers only."""
        if self.advice is None:
            points, S = first_guess(self.recipe, self.means, self.settled), self.frame.loss
            return {role: replace(point, S=S) for role, point in points.items()}
        points = self.advice.points
        return {role: replace(p, S=float(np.median(p.S))) for role, p in points.items()}

    @property
    def forecast(self) -> Forecast:
        """What further runs would tell of the real run, first by its roles as they stand.

        Where its size is to be chosen, smaller and larger ones are to be known as well.
        """
        real, settled = self.real, self.settled
        sizes = {"scratch": settled.params, "cpt": settled.base or settled.params}
        open_sizes = [role for role, size in sizes.items() if not size]
        others = [other for role in open_sizes for other in around(real[role], _CHOICE)]
        return forecast(self.beliefs, self.options, [*real.values(), *others])


def begin(recipe: Recipe, workspace: Path) -> PilotState:
    """The pilot of a recipe before any run; its text must be prepared."""
    manifest = read_manifest(workspace / "tokens" / recipe.name)
    vocabulary = manifest["vocabulary_size"]
    available = {lang: one["train"]["tokens"] for lang, one in manifest["languages"].items()}
    means = means_of(recipe, vocabulary, available)
    options = candidates(recipe, means)
    points = [point for one in options for point in one.points]
    N, D = (
        math.exp(sum(math.log(getattr(point, name)) for point in points) / len(points))
        for name in "ND"
    )
    start = math.log10(min(one.flops for one in with_parents(options)))
    frame = Frame(N, D, _LOSS * math.log(vocabulary), start, recipe.train.seed)
    settled = settle(recipe, workspace, vocabulary)
    return PilotState(
        recipe, means, settled, tuple(options), frame, (), (), believe([], frame), None
    )


def extend(pilot: PilotState, share: float) -> PilotState:
    """The same with the runs that tell most, up to a share of its budget."""
    left = share * pilot.means.budget - cost_of(pilot.runs)
    new = choose_runs(pilot.forecast, pilot.options, left, pilot.runs)
    return replace(pilot, runs=(*pilot.runs, *new))


def without(pilot: PilotState, names: Collection[str]) -> PilotState:
    """The same without these runs, those that continue from them, and the wish to have them."""
    options, runs = (
        tuple(one for one in of if not {one.name, one.parent and one.parent.name} & {*names})
        for of in (pilot.options, pilot.runs)
    )
    return replace(pilot, options=options, runs=runs, lost=(*pilot.lost, *names))


def plan_pilot(recipe: Recipe, workspace: Path) -> PilotState:
    """A pilot with the runs of its first round, none of them trained; the text is prepared."""
    return extend(begin(recipe, workspace), _FIRST)


def run_pilot(
    recipe: Recipe,
    workspace: Path,
    *,
    launcher: Launcher | None = None,
    watch: Callable[[State], None] = lambda state: None,
    tell: Callable[[str], None] = lambda line: None,
) -> PilotState:
    """Train the small runs of a recipe's pilot in two rounds.

    Stopped or killed, the same call resumes: all that is decided follows from the recipe and the
    runs' own losses.

    launcher, watch, tell: as of `run_all`, which is called once a round.
    """
    train = partial(run_all, workspace=workspace, launcher=launcher, watch=watch, tell=tell)
    return conduct(recipe, workspace, train, tell)


def conduct(
    recipe: Recipe,
    workspace: Path,
    train: Callable[[Sequence[RunPlan]], None],
    tell: Callable[[str], None],
) -> PilotState:
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
    pilot: PilotState,
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
        others = (workspace / "runs" / plan.name for plan in without(pilot, lost).plans)
        if not lost or any(status_of(directory) != "finished" for directory in others):
            raise
    for name in lost:
        tell(f"{name} diverged and is left out; others take its place")
    return lost


def _diverged(runs: Iterable[Candidate], workspace: Path) -> list[str]:
    """The runs that, as they are meant now, no further attempt would bring to an end."""
    places = [(one, workspace / "runs" / one.name) for one in with_parents(runs)]
    return [
        one.name
        for one, place in places
        if status_of(place) == "diverged" and read_run(place).settings == one.plan.identity()
    ]


def learned(pilot: PilotState, workspace: Path) -> PilotState:
    """The same with the losses that its runs ended at, and what follows from them."""
    folder = workspace / "runs" / pilot.recipe.name
    measured = tuple(_read_losses(with_parents(pilot.runs), folder))
    beliefs = believe(measured, pilot.frame)
    advice = advise_run(pilot.recipe, pilot.means, pilot.settled, beliefs)
    return replace(pilot, measured=measured, beliefs=beliefs, advice=advice)


def _read_losses(runs: Sequence[Candidate], folder: Path) -> list[MeasuredLoss]:
    """The final losses of these runs, all in one folder of the store.

    Losses on the way there carry what the learning rate has still to give, and are left out.
    """
    names = {run.name for run in runs}
    found = {
        run.name: run for run in gather_runs(r for r in run_rows([folder]) if r["run"] in names)
    }
    if missing := names - found.keys():
        raise UserError("was not trained to its end", where=min(missing))
    measured: list[MeasuredLoss] = []
    for run in runs:
        for point in run.points:
            curve = found[run.name].learned
            if point.role == "forgetting":
                curve = found[run.name].curves[run.plan.roles.base_languages[0]]
                point = replace(point, S=float(curve.loss[0]))
            measured.append(MeasuredLoss(run.name, point, float(curve.loss[-1])))
    return measured


def believe(measured: Sequence[MeasuredLoss], frame: Frame) -> dict[str, PilotBelief]:
    """What is believed of every block of laws after these losses, of which there may be none."""
    return {name: _learn(name, measured, frame) for name in BLOCKS}


def _learn(name: str, measured: Iterable[MeasuredLoss], frame: Frame) -> PilotBelief:
    own = [one for one in measured if one.point.role in BLOCKS[name].roles]
    return believe_block(name, [one.point for one in own], [one.loss for one in own], frame)


def hold_out(measured: Sequence[MeasuredLoss], frame: Frame) -> list[Held]:
    """The largest run of each role, foretold from the smaller ones of its block."""
    held: list[Held] = []
    for role, name in ((role, of.name) for of in BLOCKS.values() for role in of.roles):
        own = [one for one in measured if one.point.role == role]
        if len(own) > _FEWEST:
            largest = max(own, key=lambda one: one.point.flops)
            smaller = (one for one in measured if one.point.flops < largest.point.flops)
            foretold = _learn(name, smaller, frame).foretold(largest.point)
            low, high = percentiles(foretold)
            middle, above = float(np.median(foretold)), float(np.mean(foretold > largest.loss))
            rank = 2.0 * min(above, 1.0 - above)
            held.append(Held(largest, middle, float(low), float(high), rank))
    return held
