"""What the runs of a pilot leave to believe about its laws, and the losses they foretell.

The log of a final loss is its law, a drift and a scatter. The scatter is each run's own (seeds).
The drift is how the form of the law is wrong: its slope strays from the law's as a random walk over
the log of compute, its own for each role. Runs hold it down, and what they show of a bend goes on
beyond them, ever less sure. How large both are is learned from the runs, starting from what the
block states.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tongues.laws import FORMS, Law
from tongues.randomness import derive_seed
from tongues.study.pilot.prior import Frame, LawBlock, Point, log_losses, params_of

__all__ = ["Belief", "learn", "strays"]

_STATED = 4.0  # how many runs the stated scatter counts as
_DRAWS = 2000
_TIMES = 2  # that every walker is drawn
_MOVES = 40  # of every walker, each time the runs weigh a little more
_APART = 300  # moves between its draws, when they weigh all they do
_KEPT = 0.5  # share of the walkers that count when the runs weigh a little more
_HALVINGS = 40  # of the weight that is looked for
_LONG = 0.1  # share of moves that are a whole distance between walkers
Array = np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """Draws from what is believed of a block's laws after its runs.

    points: of what was measured. axes, spans: the covariance of their drifts over a tenfold's, by
    its axes and their variances. off: of each draw, how the runs lie beside its laws, along those
    axes. z: coordinates of every draw. drift: of each draw, in units of its scatter over a tenfold
    of compute. scatter: of each draw, in log loss.
    """

    block: LawBlock
    frame: Frame
    points: tuple[Point, ...]
    axes: Array
    spans: Array
    off: Array
    z: Array
    drift: Array
    scatter: Array

    def foretold(self, point: Point) -> Array:
        """The loss of one run there in every draw, seed and drift included, nats per token."""
        return np.exp(self._log_law(point) + self._strayed(point, scatter=True))

    def expected(self, point: Point) -> Array:
        """The same without the scatter of a single run."""
        return np.exp(self._log_law(point) + self._strayed(point, scatter=False))

    def factor(self, point: Point) -> Array:
        """What the drift multiplies the law by there, in every draw."""
        return np.exp(self._strayed(point, scatter=False))

    def params(self, role: str) -> dict[str, Array]:
        """The parameters of a role's law in every draw."""
        return params_of(self.block, role, self.z, self.frame.scale)

    def law(self, point: Point, around: Sequence[Point] = (), target: str = "") -> Law:
        """The law of the point's role as it is to be used there: the drift is put into E, A and B.

        Its own parameters are those of the draw nearest to the mean of all, at the point and at
        the points around it, so scaled that they give the middle of the draws at the point.
        """
        role, form = point.role, FORMS.find(self.block.roles[point.role])
        factor, params = self.factor(point), self.params(role)
        curves = np.stack([self._log_law(one) for one in (point, *around)], axis=-1)
        typical = int(((curves - curves.mean(0)) ** 2).sum(-1).argmin())
        middle = np.median(curves[:, 0] + np.log(factor)) - curves[typical, 0]
        scaled = ("E", "A", "B") if "E" in params else ()  # no factor of a law of forgetting
        own = {
            name: float(values[typical] * (np.exp(middle) if name in scaled else 1.0))
            for name, values in params.items()
        }
        draws = {
            name: values * factor if name in scaled else np.broadcast_to(values, factor.shape)
            for name, values in params.items()
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

    def _log_law(self, point: Point) -> Array:
        if isinstance(point.S, float):
            return log_losses(self.block, self.z, [point], self.frame.scale)[:, 0]
        S = np.resize(point.S, len(self.z))
        variables = {"D": np.full(len(S), point.D), "r": np.full(len(S), point.r), "S": S}
        form = FORMS.find(self.block.roles[point.role])
        return np.log(form.loss(self.params(point.role), variables))

    def _strayed(self, point: Point, *, scatter: bool) -> Array:
        """Drift at a point in every draw, given how the runs lie beside their law."""
        size, start = self.drift[:, None] ** 2, self.frame.start
        shared = size * (_shared([point], self.points, start) @ self.axes)
        weights = shared / (1.0 + size * self.spans)
        own = size[:, 0] * float(_shared([point], [point], start)[0, 0])
        left = np.maximum(own - (shared * weights).sum(-1), 0.0) + (1.0 if scatter else 0.0)
        name = (self.block.name, point.role, f"{point.N:.6g}", f"{point.D:.6g}", f"{point.r:.6g}")
        random = np.random.default_rng(derive_seed(self.frame.seed, "foretold", *name))
        noise = self.scatter * np.sqrt(left) * random.standard_normal(len(self.z))
        return (self.off * weights).sum(-1) + noise


def learn(
    block: LawBlock,
    points: Sequence[Point],
    losses: Sequence[float],
    frame: Frame,
    draws: int = _DRAWS,
) -> Belief:
    """Draw the laws of a block from what its runs (may be none) leave to believe.

    losses: final ones, nats per token.
    """
    measured = np.log(np.asarray(losses, dtype=float))
    spans, axes = np.linalg.eigh(_shared(points, points, frame.start))
    spans = np.maximum(spans, 0.0)
    random = np.random.default_rng(derive_seed(frame.seed, "pilot", block.name, len(points)))
    degrees = _STATED + len(points)

    def misfit(z: Array) -> tuple[Array, Array, Array]:
        """Residuals along the axes, their variances, and their squares with what was stated."""
        off = measured - log_losses(block, z, points, frame.scale)
        off = np.where(np.isfinite(off), off, 1e3) @ axes
        variance = 1.0 + np.exp(2.0 * z[:, -1:]) * spans
        return off, variance, _STATED * block.scatter**2 + (off**2 / variance).sum(-1)

    def likelihood(z: Array) -> Array:
        """The log likelihood of the runs, whatever their scatter."""
        _, variance, squares = misfit(z)
        return -0.5 * np.log(variance).sum(-1) - 0.5 * degrees * np.log(squares)

    count = math.ceil(draws / _TIMES) if points else draws
    z = block.middle + block.deviation * random.standard_normal((count, len(block.middle)))
    z = _annealed(z, likelihood, block, random)[:draws] if points else z
    off, _, squares = misfit(z)
    scatter = np.sqrt(squares / random.chisquare(degrees, len(z)))
    return Belief(block, frame, tuple(points), axes, spans, off, z, np.exp(z[:, -1]), scatter)


def strays(belief: Belief, points: Sequence[Point]) -> Array:
    """Covariance of the drifts at these points before any run, of drifts as they are believed."""
    size = float(np.median((belief.scatter * belief.drift) ** 2))
    return size * _shared(points, points, belief.frame.start)


def _shared(first: Sequence[Point], second: Sequence[Point], start: float) -> Array:
    """Covariance of the drifts of two points, where that of one a tenfold from the start has 1.

    The drift's slope is a random walk over the logarithm of compute, and the drift its integral.
    """
    first_gone, second_gone = (
        np.maximum(np.log10([point.flops for point in points]) - start, 0.0)
        for points in (first, second)
    )
    roles = [np.array([point.role for point in points]) for points in (first, second)]
    near = np.minimum(first_gone[:, None], second_gone[None, :])
    far = np.maximum(first_gone[:, None], second_gone[None, :])
    same = roles[0][:, None] == roles[1][None, :]
    return np.where(same, near**2 * (3.0 * far - near) / 2.0, 0.0)


def _annealed(
    z: Array, likelihood: Callable[[Array], Array], block: LawBlock, random: np.random.Generator
) -> Array:
    """Draws of what is believed after the runs, by walkers z from what was thought before them.

    The runs weigh little at first and more with each step, so that walkers are never far from
    where they belong (sequential Monte Carlo: Del Moral, Doucet and Jasra 2006). Between steps
    each is moved by differences of others (ter Braak 2006).
    """
    weight, height = 0.0, likelihood(z)

    def shares(further: float) -> Array:
        return np.exp(further * (height - height.max()))

    def counting(further: float) -> float:
        """The share of the walkers that count when the runs weigh so much more."""
        share = shares(further)
        return float(share.sum() ** 2 / (share**2).sum() / len(share))

    def move(weight: float) -> None:
        """Move each half of the walkers by differences between those of the other, in place."""
        half, deviation = len(z) // 2, block.deviation
        halves = slice(0, half), slice(half, None)
        for own, other in (halves, halves[::-1]):
            here, there = z[own], z[other]
            pairs = random.integers(0, len(there), (2, len(here)))
            usual = 2.4 / math.sqrt(2.0 * z.shape[1]) * np.exp(-random.exponential(0.7, len(here)))
            stride = np.where(random.random(len(here)) < _LONG, 1.0, usual)
            moved = here + stride[:, None] * (there[pairs[0]] - there[pairs[1]])
            moved += 1e-4 * deviation * random.standard_normal(moved.shape)
            higher = likelihood(moved)
            before = [(((one - block.middle) / deviation) ** 2).sum(-1) for one in (here, moved)]
            gain = weight * (higher - height[own]) + 0.5 * (before[0] - before[1])
            taken = np.log(random.random(len(here))) < gain
            z[own] = np.where(taken[:, None], moved, here)
            height[own] = np.where(taken, higher, height[own])

    while weight < 1.0:
        further, low, high = 1.0 - weight, 0.0, 1.0 - weight
        if counting(further) < _KEPT:
            for _ in range(_HALVINGS):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if counting(middle) >= _KEPT else (low, middle)
            further = low
        weight += further
        share = shares(further)
        places = (np.arange(len(z)) + random.random()) / len(z)
        chosen = np.searchsorted(np.cumsum(share) / share.sum(), places).clip(max=len(z) - 1)
        chosen = random.permutation(chosen)
        z, height = z[chosen], height[chosen]
        for _ in range(_MOVES):
            move(weight)
    draws: list[Array] = []
    for _ in range(_TIMES):
        for _ in range(_APART):
            move(1.0)
        draws.append(z.copy())
    return np.concatenate(draws)
