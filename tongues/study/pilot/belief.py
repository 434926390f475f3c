"""What the runs of a pilot leave to believe about its laws, and the losses they foretell.

The log of a final loss is its law, a drift and a scatter. The scatter is each run's own (seeds).
The drift is how the form of the law is wrong: a random walk over the log of compute, its own for
each role, which runs near the real one hold down and which grows again beyond them. How large both
are is learned from the runs, starting from what the block states.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tongues.laws import FORMS, Law
from tongues.randomness import derive_seed
from tongues.study.pilot.prior import Block, Point, Scale, log_losses, params_of

__all__ = ["Belief", "learn", "strays"]

_STATED = 4.0  # how many runs the stated scatter counts as
_WALKERS = 96
_FIRST = 20_000  # draws of the prior among which walkers start
_SETTLING = 600  # steps before draws are taken
_APART = 25  # steps between draws of a walker
_STRETCH = 2.0
Array = np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """Draws from what is believed of a block's laws after its runs.

    start: log10 of the FLOPs at which the drift begins. points, losses: what was measured.
    residuals: of each draw's laws, (draws, runs). inverse: of their covariance, in units of the
    scatter squared. z: coordinates of every draw. scatter: of each draw, in log loss.
    """

    block: Block
    scale: Scale
    start: float
    points: tuple[Point, ...]
    residuals: Array
    inverse: Array
    z: Array
    scatter: Array
    seed: int

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
        return params_of(self.block, role, self.z, self.scale)

    def law(self, point: Point, around: Sequence[Point] = (), target: str = "") -> Law:
        """The law of the point's role as it is to be used there: the drift is put into E, A and B.

        Its own parameters are those of the draw nearest to the mean of all, at the point and at
        the points around it, so scaled that they give the middle of the draws at the point.
        """
        role, form = point.role, self.block.roles[point.role]
        factor = self.factor(point)
        draws = _multiplied(self.params(role), factor)
        curves = np.stack([self._log_law(one) for one in (point, *around)], axis=-1)
        typical = int(((curves - curves.mean(0)) ** 2).sum(-1).argmin())
        middle = np.median(curves[:, 0] + np.log(factor)) - curves[typical, 0]
        own = {name: values[[typical]] for name, values in self.params(role).items()}
        own = _multiplied(own, np.exp(np.array([middle])))
        names = FORMS[form].names
        measured = [one for one in self.points if one.role == role]
        kept = {"N": "N", "D": "D", "C": "flops"} if form != "forgetting" else {"D": "D", "r": "r"}
        ranges = {
            name: (
                min(getattr(one, key) for one in measured),
                max(getattr(one, key) for one in measured),
            )
            for name, key in kept.items()
            if measured
        }
        return Law(
            form=form,
            params={name: float(own[name][0]) for name in names},
            draws={name: draws[name] for name in names},
            n_rows=len(measured),
            n_runs=len(measured),
            range=ranges,
            strategy=role if role in ("scratch", "cpt") else "",
            target=target,
        )

    def _log_law(self, point: Point) -> Array:
        if isinstance(point.S, float):
            return log_losses(self.block, self.z, [point], self.scale)[:, 0]
        S = np.resize(point.S, len(self.z))
        variables = {"D": np.full(len(S), point.D), "r": np.full(len(S), point.r), "S": S}
        form = FORMS[self.block.roles[point.role]]
        return np.log(form.loss(self.params(point.role), variables))

    def _strayed(self, point: Point, *, scatter: bool) -> Array:
        """Drift at a point in every draw, given how the runs lie beside their law."""
        drift = self.block.drift**2
        shared = drift * _shared(self.points, [point], self.start)[:, 0]
        weights = self.inverse @ shared
        own = drift * float(_shared([point], [point], self.start)[0, 0])
        left = max(own - float(shared @ weights), 0.0) + (1.0 if scatter else 0.0)
        name = (self.block.name, point.role, f"{point.N:.6g}", f"{point.D:.6g}", f"{point.r:.6g}")
        random = np.random.default_rng(derive_seed(self.seed, "foretold", *name))
        noise = self.scatter * math.sqrt(left) * random.standard_normal(len(self.z))
        return self.residuals @ weights + noise


def learn(
    block: Block,
    points: Sequence[Point],
    losses: Sequence[float],
    scale: Scale,
    start: float,
    seed: int,
    draws: int = 1000,
) -> Belief:
    """Draw the laws of a block from what its runs (may be none) leave to believe.

    losses: final ones, nats per token. start: log10 of the FLOPs at which the drift begins.
    """
    measured = np.log(np.asarray(losses, dtype=float))
    strayed = block.drift**2 * _shared(points, points, start)
    inverse = np.linalg.inv(np.eye(len(points)) + strayed)
    random = np.random.default_rng(derive_seed(seed, "pilot", block.name, len(points)))
    degrees = _STATED + len(points)

    def misfit(z: Array) -> tuple[Array, Array]:
        """Residuals, and their sum of squares with what was stated beforehand."""
        off = measured - log_losses(block, z, points, scale)
        off = np.where(np.isfinite(off), off, 1e3)
        return off, _STATED * block.scatter**2 + np.einsum("wi,ij,wj->w", off, inverse, off)

    def density(z: Array) -> Array:
        standard = (z - block.middle) / block.deviation
        return -0.5 * (standard**2).sum(-1) - 0.5 * degrees * np.log(misfit(z)[1])

    z = _walk(density, block, draws, random) if points else _beforehand(block, draws, random)
    off, squares = misfit(z)
    return Belief(
        block=block,
        scale=scale,
        start=start,
        points=tuple(points),
        residuals=off,
        inverse=inverse,
        z=z,
        scatter=np.sqrt(squares / random.chisquare(degrees, len(z))),
        seed=seed,
    )


def strays(belief: Belief, points: Sequence[Point]) -> Array:
    """Covariance of the drifts at these points before any run, in units of the scatter squared."""
    return belief.block.drift**2 * _shared(points, points, belief.start)


def _shared(first: Sequence[Point], second: Sequence[Point], start: float) -> Array:
    """The stretch of the random walk that two points share, in powers of ten of compute."""
    compute = [np.log10([point.flops for point in points]) for points in (first, second)]
    roles = [np.array([point.role for point in points]) for points in (first, second)]
    walked = np.minimum(compute[0][:, None], compute[1][None, :]) - start
    same = roles[0][:, None] == roles[1][None, :]
    return np.where(same, np.maximum(walked, 0.0), 0.0)


def _walk(
    density: Callable[[Array], Array], block: Block, draws: int, random: np.random.Generator
) -> Array:
    """Draws of a density, by walkers that stretch towards each other (Goodman and Weare 2010)."""
    first = _beforehand(block, _FIRST, random)
    height = density(first)
    z = first[np.argsort(-height)[:_WALKERS]]
    z = z[random.permutation(_WALKERS)]
    height = density(z)
    kept: list[Array] = []
    half = _WALKERS // 2
    rounds = math.ceil(draws / _WALKERS)
    for step in range(1, _SETTLING + rounds * _APART + 1):
        for own, other in (
            (slice(0, half), slice(half, None)),
            (slice(half, None), slice(0, half)),
        ):
            stretch = (1 + (_STRETCH - 1) * random.random(half)) ** 2 / _STRETCH
            partner = z[other][random.integers(0, half, half)]
            moved = partner + stretch[:, None] * (z[own] - partner)
            higher = density(moved)
            gain = (z.shape[1] - 1) * np.log(stretch) + higher - height[own]
            taken = np.log(random.random(half)) < gain
            z[own] = np.where(taken[:, None], moved, z[own])
            height[own] = np.where(taken, higher, height[own])
        if step > _SETTLING and (step - _SETTLING) % _APART == 0:
            kept.append(z.copy())
    return np.concatenate(kept)[:draws]


def _beforehand(block: Block, draws: int, random: np.random.Generator) -> Array:
    """Draws of what is thought before any run."""
    return block.middle + block.deviation * random.standard_normal((draws, len(block.middle)))


def _multiplied(params: Mapping[str, Array], factor: Array) -> dict[str, Array]:
    """The parameters of a law that is `factor` times another."""
    scaled = ("E", "A", "B") if "E" in params else ()  # a law of forgetting has no such factor
    return {
        name: values * factor if name in scaled else np.broadcast_to(values, factor.shape)
        for name, values in params.items()
    }
