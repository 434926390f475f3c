"""What a pilot's runs measured, what is believed after them, and how the largest were foretold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.laws.observed import gather
from tongues.laws.uncertainty import percentiles
from tongues.runs import table
from tongues.study.pilot.belief import Belief, learn
from tongues.study.pilot.candidates import Candidate
from tongues.study.pilot.prior import BLOCKS, Point, Scale

__all__ = ["Frame", "Held", "Measured", "believe", "hold_out", "read_losses"]

_FEWEST = 2  # other losses of a role, from which its largest is foretold


@dataclass(frozen=True, slots=True)
class Frame:
    """What all beliefs of a pilot have in common.

    start: log10 of the FLOPs of the smallest run there may be. seed: of all draws.
    """

    scale: Scale
    start: float
    seed: int


@dataclass(frozen=True, slots=True)
class Measured:
    """A loss that a run ended at, nats per token; the point says which."""

    run: str
    point: Point
    loss: float


@dataclass(frozen=True, slots=True)
class Held:
    """The largest run of a role, foretold from the smaller ones: middle and 95 % interval.

    rank: share of the draws that lie at least as far out as what was measured, on either side.
    """

    measured: Measured
    middle: float
    low: float
    high: float
    rank: float

    @property
    def inside(self) -> bool:
        """Whether the measured loss lies within."""
        return self.low <= self.measured.loss <= self.high


def read_losses(runs: Sequence[Candidate], folder: Path) -> list[Measured]:
    """The final losses of these runs, all in one folder of the store.

    Losses on the way there carry what the learning rate has still to give, and are left out.
    """
    names = {run.name: run for run in runs}
    rows = [row for row in table([folder]) if row["run"] in names]
    found = {run.name: run for run in gather(rows)}
    missing = names.keys() - found.keys()
    if missing:
        raise UserError("was not trained to its end", where=min(missing))
    return [
        Measured(name, *_loss(point, name, found[name], names[name]))
        for name in names
        for point in names[name].points
    ]


def _loss(point: Point, name: str, run, candidate: Candidate) -> tuple[Point, float]:
    if point.role != "forgetting":
        return point, float(run.learned.loss[-1])
    curve = run.curves[candidate.plan.roles.base_languages[0]]
    return replace(point, S=float(curve.loss[0])), float(curve.loss[-1])


def believe(measured: Sequence[Measured], frame: Frame) -> dict[str, Belief]:
    """What is believed of every block of laws after these losses, of which there may be none."""
    found: dict[str, Belief] = {}
    for name, block in BLOCKS.items():
        own = [one for one in measured if one.point.role in block.roles]
        points, losses = [one.point for one in own], [one.loss for one in own]
        found[name] = learn(block, points, losses, frame.scale, frame.start, frame.seed)
    return found


def hold_out(measured: Sequence[Measured], frame: Frame) -> list[Held]:
    """The largest run of each role, foretold from the smaller ones of its block."""
    found: list[Held] = []
    for block in BLOCKS.values():
        for role in block.roles:
            own = [one for one in measured if one.point.role == role]
            if len(own) <= _FEWEST:
                continue
            largest = max(own, key=lambda one: one.point.flops)
            smaller = [
                one
                for one in measured
                if one.point.role in block.roles and one.point.flops < largest.point.flops
            ]
            losses = [one.loss for one in smaller]
            belief = learn(
                block, [one.point for one in smaller], losses, frame.scale, frame.start, frame.seed
            )
            foretold = belief.foretold(largest.point)
            low, high = percentiles(foretold)
            middle, above = float(np.median(foretold)), float(np.mean(foretold > largest.loss))
            rank = 2.0 * min(above, 1.0 - above)
            found.append(Held(largest, middle, float(low), float(high), rank))
    return found
