"""The laws of a pilot in blocks: their priors, and what they are believed to be after its runs.

A run leaves up to three final losses by role: `source` (a base model on its own language),
`scratch` or `cpt` (a run on the language it learns) and `forgetting` (a continued run on the
language of its base). Laws that share parameters make a block. `tongues.laws.predict` draws them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tongues.languages.forecast import UNLIKELY, surprise_of
from tongues.laws import FORMS, Law
from tongues.laws.predict import (
    Belief,
    Block,
    Chart,
    DriftWalks,
    Foreknown,
    Places,
    Scale,
    learn,
)
from tongues.randomness import derive_seed

__all__ = ["BLOCKS", "Frame", "KnownLosses", "PilotBelief", "PilotBlock", "Point", "believe_block"]

_DRAWS = 2000
_WALKERS = 1000
_SURE = 0.4  # deviation of the logarithm of the scatter, as of four runs
_UNSURE = 0.9  # of the drift: a factor of 2.5
Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Point:
    """A loss that is measured or predicted.

    N: parameters. D: tokens of the role's law: of the target language alone for `cpt`, all tokens
    of the run for the others. flops: of the run itself, its parent's left out. r: share of replay.
    S: loss on the source before the first step, nats per token, or one for every draw.
    """

    role: str
    N: float
    D: float
    flops: float
    r: float = 0.0
    S: float | Array = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class KnownLosses:
    """Losses known before any run, at points of one role: jointly normal logs, nats per token.

    name: of the language whose prior says so.
    """

    name: str
    points: tuple[Point, ...]
    middle: Array
    covariance: Array


@dataclass(frozen=True, slots=True)
class Frame:
    """The units of all priors of a pilot: parameters, tokens, nats per token.

    start: log10 of the FLOPs of the smallest run there may be, where drifts begin.
    """

    N: float
    D: float
    loss: float
    start: float
    seed: int


@dataclass(frozen=True, slots=True)
class PilotBlock:
    """Laws that share parameters, and their priors.

    roles: those of its losses, with the form of each. spread: mean and standard deviation of each
    coordinate; all but `gamma` are logarithms, of losses in units of the frame's. scatter: of a
    final loss around its law, in log loss, until runs show it.
    """

    name: str
    roles: Mapping[str, str]
    spread: Mapping[str, tuple[float, float]]
    scatter: float

    def params(self, role: str, z: Array, frame: Frame) -> dict[str, Array]:
        """The parameters of a role's form, of rows of coordinates."""
        form = FORMS.find(self.roles[role])
        named = {name: z[:, i] for i, name in enumerate(self.spread)}
        if role == "cpt":  # `less`: of its token term than that of scratch
            named |= {"B": named["B"] + named["less"], "beta": named["beta_cpt"]}
        scale = Scale({"N": frame.N, "D": frame.D}, frame.loss)
        if role == "forgetting":
            tokens = math.log(frame.D)
            named |= {name: named[name] + tokens for name in ("F", "B")}
            named |= {name: np.full(len(z), math.log(of)) for name, of in form.given.items()}
        return Chart(form, scale).params(named)

    def framed(self, frame: Frame) -> Block:
        """The block for `tongues.laws.predict`."""
        middle, deviation = np.array(list(self.spread.values())).T
        return Block(
            roles=self.roles,
            middle=middle,
            spread=np.diag(deviation),
            params=lambda role, z: self.params(role, z, frame),
            scatter=(math.log(self.scatter), _SURE),
            drift=(math.log(2.0 * self.scatter), _UNSURE),
        )


@dataclass(frozen=True, slots=True, eq=False)
class PilotBelief:
    """Draws of a block's laws after its runs at `points`.

    known: what was known before them, and agrees with them. doubted: whether they contradicted it.
    """

    block: PilotBlock
    frame: Frame
    points: tuple[Point, ...]
    drawn: Belief
    known: KnownLosses | None = None
    doubted: bool = False

    def predicted(self, point: Point) -> Array:
        """The loss of one run in every draw, scatter and drift included, nats per token."""
        name = (self.block.name, point.role, f"{point.N:.6g}", f"{point.D:.6g}", f"{point.r:.6g}")
        seed = derive_seed(self.frame.seed, "predicted", *name)
        return self.drawn.run(self._place(point), seed)[:, 0]

    def expected(self, point: Point) -> Array:
        """The same without the scatter of a single run."""
        return self.drawn.expected(self._place(point))[:, 0]

    def surprise(self, points: Sequence[Point], losses: Sequence[float]) -> float:
        """How unlikely losses are by the draws, as a standard normal deviate."""
        draws = np.log([self.predicted(point) for point in points])
        return surprise_of(draws.mean(1), np.atleast_2d(np.cov(draws)), np.log(losses))

    def law(self, point: Point, around: Sequence[Point] = (), target: str = "") -> Law:
        """The law of the point's role near the point: the drift is put into E, A and B.

        Its parameters are those of the draw nearest to the mean of all draws at the point and
        around it, scaled to the median of the draws at the point.
        """
        role, form = point.role, FORMS.find(self.block.roles[point.role])
        factor, params = self.drawn.factor(self._place(point))[:, 0], self.drawn.params(role)
        curves = np.concatenate(
            [self.drawn.block.log_loss(self.drawn.z, self._place(one)) for one in (point, *around)],
            axis=-1,
        )
        typical = int(((curves - curves.mean(0)) ** 2).sum(-1).argmin())
        middle = np.median(curves[:, 0] + np.log(factor)) - curves[typical, 0]
        scaled = ("E", "A", "B") if "E" in params else ()  # no factor of a law of forgetting
        own = {
            name: float(values[typical] * (np.exp(middle) if name in scaled else 1.0))
            for name, values in params.items()
        }
        draws = {
            name: values * factor if name in scaled else values for name, values in params.items()
        }
        measured = [one for one in self.points if one.role == role]
        of_size = {"N": "N", "D": "D", "C": "flops"}
        fields = of_size if "N" in form.variables else {"D": "D", "r": "r"}
        values = {name: [getattr(one, key) for one in measured] for name, key in fields.items()}
        return Law(
            form=form.name,
            params={name: own[name] for name in form.names},
            draws={name: draws[name] for name in form.names},
            n_rows=len(measured),
            n_runs=len(measured),
            range={name: (min(of), max(of)) for name, of in values.items() if of},
            strategy=role if role in ("scratch", "cpt") else "",
            target=target,
        )

    def log_losses(self, z: Array, points: Sequence[Point]) -> Array:
        """The laws' own log losses at rows of coordinates, (rows, points)."""
        columns = [self.drawn.block.log_loss(z, _places(self.block, [one])) for one in points]
        return np.concatenate(columns, axis=-1) if columns else np.empty((len(z), 0))

    def drift_slopes(self, points: Sequence[Point]) -> Array:
        """Drifts of the median size at these points, by independent standard normals."""
        walks, roles = self.drawn.walks, list(self.block.roles)
        slopes = np.zeros((len(points), len(roles), walks.count))
        for row, point in zip(slopes, points, strict=True):
            place = self._place(point)
            row[roles.index(point.role)] = walks.features(place.variables, place.flops)[0]
        return float(np.median(self.drawn.drift)) * slopes.reshape(len(points), -1)

    def _place(self, point: Point) -> Places:
        places = _places(self.block, [point])
        if isinstance(point.S, float):
            return places
        S = np.resize(point.S, len(self.drawn.z))[:, None]
        return Places(places.role, {**places.variables, "S": S}, places.flops)


def believe_block(
    name: str,
    points: Sequence[Point],
    losses: Sequence[float],
    frame: Frame,
    draws: int = _DRAWS,
    known: KnownLosses | None = None,
) -> PilotBelief:
    """Draw the laws of a block after its runs, of which there may be none; nats per token.

    known: before any run; it is left out where the runs are too unlikely by it.
    """
    block = BLOCKS[name]
    if known and points:
        before = believe_block(name, [], [], frame, draws, known)
        role = known.points[0].role
        own = [i for i, point in enumerate(points) if point.role == role]
        if own and before.surprise([points[i] for i in own], [losses[i] for i in own]) > UNLIKELY:
            return replace(believe_block(name, points, losses, frame, draws), doubted=True)
    measured: list[tuple[Places, Array]] = []
    for role in block.roles:
        own = [i for i, point in enumerate(points) if point.role == role]
        if own:
            of_role = _places(block, [points[i] for i in own])
            measured.append((of_role, np.array([losses[i] for i in own], dtype=float)))
    seed = derive_seed(frame.seed, "pilot", name, len(points))
    drawn = learn(
        block.framed(frame),
        measured,
        DriftWalks(frame.start),
        draws=draws,
        walkers=min(draws, _WALKERS),
        seed=seed,
        known=known and Foreknown(_places(block, known.points), known.middle, known.covariance),
    )
    return PilotBelief(block, frame, tuple(points), drawn, known)


def _places(block: PilotBlock, points: Sequence[Point]) -> Places:
    """Points of one role."""
    role = points[0].role
    names = FORMS.find(block.roles[role]).variables
    numbers = {name: [getattr(point, name) for point in points] for name in names}
    variables = {
        name: np.array([of if isinstance(of, float) else float(np.median(of)) for of in values])
        for name, values in numbers.items()
    }
    return Places(role, variables, np.array([point.flops for point in points]))


_ALONE = {
    "E": (math.log(0.2), 1.5),
    "A": (math.log(0.15), 1.5),
    "B": (math.log(0.4), 0.8),
    "alpha": (math.log(0.35), 0.7),
    "beta": (math.log(0.25), 0.7),
}
_CONTINUED = {"less": (-0.4, 0.5), "beta_cpt": (math.log(0.2), 0.7), "gamma": (0.05, 0.1)}
_FORGOTTEN = {
    "F": (math.log(3e-3), 2.0),
    "A": (math.log(0.3), 0.6),
    "kappa": (math.log(0.12), 0.7),
    "W": (math.log(0.2), 0.8),
    "B": (math.log(0.5), 1.5),
}
BLOCKS = {
    block.name: block
    for block in (
        PilotBlock("target", {"scratch": "chinchilla", "cpt": "cpt"}, _ALONE | _CONTINUED, 0.008),
        PilotBlock("source", {"source": "chinchilla"}, _ALONE, 0.008),
        PilotBlock("forgetting", {"forgetting": "forgetting"}, _FORGOTTEN, 0.015),
    )
}
