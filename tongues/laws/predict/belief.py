"""What runs leave to believe about their laws: draws of whole laws, each with its own error.

The log of a measured loss is its law, a drift and a scatter. The scatter is each run's own (seeds).
The drift is how the form of the law is wrong (`tongues.laws.predict.drift`): the runs hold it, and
beyond them it grows. How large both are is learned from the runs, from what is usual of published
ones. Every draw is a law with its drift, so losses of several places belong together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tongues.laws.forms import FORMS
from tongues.laws.predict.drift import DriftWalks
from tongues.laws.predict.sampler import sample

Array = np.ndarray
_ROUNDS = 20  # of the search for the most probable law
_STEP = 1e-5  # of its slopes, in deviations of what was thought before
_STARTS = 24
_CLIMBED = 2  # of the starts
_SLIGHT = 0.03  # of a gain in log density
_GRID = np.linspace(-3.5, 3.5, 29)  # of scatter and drift, in deviations
_DAMPINGS = 10.0 ** np.arange(-4.0, 5.0, 2.0)
_REWEIGHTINGS = 3
_WARM = 0.02  # of a run's weight, at the start: from the mode alone walkers never reach long tails
_FAR = 3.0  # robust deviations beyond which a run counts for less


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Losses of one role that were measured or are to be predicted.

    variables: of the role's law; flops: of the runs. weights: for how many runs each counts, as
        checkpoints of one run count for one together; empty where each is a run.
    """

    role: str
    variables: Mapping[str, Array]
    flops: Array
    weights: Array = field(default_factory=lambda: np.zeros(0))

    def __len__(self) -> int:
        return len(self.flops)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Laws that share parameters, and what is thought of them before any run.

    roles: those of its losses, with the form of each.
    middle: of the coordinates. spread: from independent standard normals to their deviations.
    params: from rows of coordinates to the parameters of a role's form.
    scatter, drift: how far a loss is from its law, and the law from the truth a tenfold further
        on; the middle of their logarithms, in log loss, and the deviation.
    """

    roles: Mapping[str, str]
    middle: Array
    spread: Array
    params: Callable[[str, Array], dict[str, Array]]
    scatter: tuple[float, float]
    drift: tuple[float, float]

    @property
    def size(self) -> int:
        """How many coordinates its laws have."""
        return len(self.middle)

    def split(self, x: Array) -> tuple[Array, Array, Array]:
        """Coordinates of the laws, scatter and drift, of rows of standard normals."""
        z = self.middle + x[..., : self.size] @ self.spread.T
        (scatter, wide), (drift, wider) = self.scatter, self.drift
        return z, np.exp(scatter + wide * x[..., -2]), np.exp(drift + wider * x[..., -1])

    def log_loss(self, z: Array, places: Places) -> Array:
        """The law's own log loss at every row of coordinates, (rows, places)."""
        params = self.params(places.role, z)
        form = FORMS.find(self.roles[places.role])
        with np.errstate(all="ignore"):
            losses = form.loss({n: v[:, None] for n, v in params.items()}, places.variables)
            return np.log(losses)


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """Draws from what is believed of a block's laws after its runs.

    z: coordinates of every draw. scatter, drift: their sizes in every draw, in log loss.
    strayed: the coefficients of the drift of every draw, by role.
    """

    block: Block
    walks: DriftWalks
    z: Array
    scatter: Array
    drift: Array
    strayed: Mapping[str, Array]

    def expected(self, places: Places) -> Array:
        """The loss of every draw there, (draws, places), nats per token, without scatter."""
        return np.exp(self.block.log_loss(self.z, places)) * self.factor(places)

    def factor(self, places: Places) -> Array:
        """What the drift multiplies the law by there, in every draw."""
        features = self.walks.features(places.variables, places.flops)
        return np.exp(self.strayed[places.role] @ features.T)

    def run(self, places: Places, seed: int) -> Array:
        """The loss of one run at each place, its scatter included."""
        noise = np.random.default_rng(seed).standard_normal((len(self.z), len(places)))
        return self.expected(places) * np.exp(self.scatter[:, None] * noise)


def learn(
    block: Block,
    measured: Sequence[tuple[Places, Array]],
    walks: DriftWalks,
    draws: int = 1000,
    walkers: int = 400,
    seed: int = 0,
) -> Belief:
    """Draw the laws of a block from what its runs (may be none) leave to believe.

    measured: places with the losses there, nats per token.
    draws: each walker is drawn several times with another drift.
    """
    random = np.random.default_rng(seed)
    evidence = _Evidence(block, measured, walks)
    x = random.standard_normal((walkers, block.size + 2))
    if evidence.count:
        mode = evidence.mode(random)
        for _ in range(_REWEIGHTINGS):
            evidence = evidence.robust(mode)
            mode = evidence.mode(random, mode)
        covariance = evidence.covariance(mode)
        x = sample(evidence.posterior, mode, covariance, walkers, random)
    x = np.resize(random.permutation(x), (draws, x.shape[1]))
    z, scatter, drift = block.split(x)
    return Belief(block, walks, z, scatter, drift, evidence.strayed(x, random))


class _Evidence:
    """The runs of a block laid out for algebra: axes of the drift, and what is off along them."""

    def __init__(
        self,
        block: Block,
        measured: Sequence[tuple[Places, Array]],
        walks: DriftWalks,
        weights: Array | None = None,
    ) -> None:
        self.block, self.measured, self.walks = block, measured, walks
        self.logs = np.concatenate([np.zeros(0), *(np.log(loss) for _, loss in measured)])
        self.count = len(self.logs)
        of_runs = [p.weights if len(p.weights) else np.ones(len(p)) for p, _ in measured]
        self.runs = float(sum(one.sum() for one in of_runs))
        own = np.concatenate([np.zeros(0), *of_runs])
        self.weights = own if weights is None else own * weights
        self.root = np.sqrt(self.weights)
        roles = list(block.roles)
        features = np.zeros((self.count, len(roles) * walks.count))
        first = 0
        for places, _ in measured:
            rows = slice(first, first + len(places))
            features[rows, self._columns(places)] = walks.features(places.variables, places.flops)
            first += len(places)
        self.features = features
        # the axes along which a drift is seen, by how much of it
        values, axes = np.linalg.eigh((features * self.weights[:, None]).T @ features)
        seen = values > 1e-10 * max(values.max(initial=0.0), 1e-300)
        self.axes, self.seen = axes, seen
        self.sizes = np.sqrt(np.maximum(values, 0.0))
        self.along = (self.root[:, None] * features) @ axes[:, seen] / self.sizes[seen]

    def _columns(self, places: Places) -> slice:
        """Those of a role among the coefficients of the drift."""
        first = list(self.block.roles).index(places.role) * self.walks.count
        return slice(first, first + self.walks.count)

    def off(self, x: Array) -> Array:
        """What was measured less the law, in log loss times the root of each run's weight."""
        z, _, _ = self.block.split(x)
        laws = [self.block.log_loss(z, places) for places, _ in self.measured]
        off = self.logs - np.concatenate([np.zeros((len(x), 0)), *laws], axis=-1)
        return np.where(np.isfinite(off), off, 1e3) * self.root

    def posterior(self, x: Array) -> Array:
        """The log density of rows of standard normals after the runs, up to a constant."""
        _, scatter, drift = self.block.split(x)
        off = self.off(x)
        along, squares = off @ self.along, (off**2).sum(-1)
        return self._height(along, squares, scatter, drift) - 0.5 * (x**2).sum(-1)

    def _height(self, along: Array, squares: Array, scatter: Array, drift: Array) -> Array:
        noise = scatter[..., None] ** 2
        variance = noise + (drift[..., None] * self.sizes[self.seen]) ** 2
        rest = np.maximum(squares - (along**2).sum(-1), 0.0)
        left = self.runs - along.shape[-1]
        return -0.5 * (
            (np.log(variance) + along**2 / variance).sum(-1)
            + left * np.log(noise[..., 0])
            + rest / noise[..., 0]
        )

    def mode(self, random: np.random.Generator, start: Array | None = None) -> Array:
        """The most probable coordinates: laws by damped least squares, the sizes by a grid."""
        size = self.block.size
        if start is None:
            x = np.concatenate(
                [np.zeros((1, size + 2)), random.standard_normal((_STARTS, size + 2))]
            )
            x[:, -2:] = 0.0
            x = x[np.argsort(-self.posterior(x))[:_CLIMBED]]
        else:
            x = start[None]
        ends = [self._climb(one) for one in x]
        return max(ends, key=lambda one: float(self.posterior(one[None])[0]))

    def _climb(self, x: Array) -> Array:
        best = float(self.posterior(x[None])[0])
        for number in range(_ROUNDS):
            gradient, bend = self._slopes(x)
            trials = np.repeat(x[None], len(_DAMPINGS), 0)
            for row, damping in zip(trials, _DAMPINGS, strict=True):
                lifted = bend + damping * np.diag(np.diag(bend))
                row[:-2] -= np.linalg.solve(lifted, gradient)
            heights = self.posterior(trials)
            at = int(np.nanargmax(heights))
            before = best
            if heights[at] > best:
                x, best = trials[at], float(heights[at])
            if number % 3 == 0 or best - before < _SLIGHT:
                x = self._sized(x)
                best = float(self.posterior(x[None])[0])
            if number > 3 and best - before < _SLIGHT:
                break
        return x

    def _sized(self, x: Array) -> Array:
        """The same law with the most probable scatter and drift."""
        grid = self._grid(x)
        i, j = np.unravel_index(int(grid.argmax()), grid.shape)
        sized = x.copy()
        sized[-2:] = _GRID[i], _GRID[j]
        return sized

    def _grid(self, x: Array) -> Array:
        """The log density over scatter and drift of one law."""
        off = self.off(x[None])[0]
        along, squares = off @ self.along, (off**2).sum()
        both = np.zeros((len(_GRID), len(_GRID), len(x)))
        both[..., -2], both[..., -1] = _GRID[:, None], _GRID[None, :]
        _, scatter, drift = self.block.split(both)
        height = self._height(along, squares, scatter, drift)
        return height - 0.5 * (both[..., -2:] ** 2).sum(-1)

    def _slopes(self, x: Array) -> tuple[Array, Array]:
        """Gradient of minus the log density by the laws' coordinates, and its curvature, nearly."""
        size = self.block.size
        moved = np.concatenate([x[None], x + _STEP * np.eye(size, len(x))])
        _, scatter, drift = self.block.split(x)
        off = self.off(moved)
        along = off @ self.along
        parts = [
            along / np.sqrt(scatter**2 + (drift * self.sizes[self.seen]) ** 2),
            (off - along @ self.along.T) / scatter,
        ]
        white = np.concatenate(parts, axis=-1)
        slope = (white[1:] - white[0]) / _STEP
        return slope @ white[0] + x[:size], slope @ slope.T + np.eye(size)

    def covariance(self, mode: Array) -> Array:
        """Of the normal nearly like the posterior about its mode if each run counted for less."""
        _, bend = self._slopes(mode)
        size = self.block.size
        covariance = np.zeros((size + 2, size + 2))
        covariance[:size, :size] = np.linalg.inv(_WARM * bend + (1.0 - _WARM) * np.eye(size))
        grid = _WARM * self._grid(mode)
        share = np.exp(grid - grid.max())
        share /= share.sum()
        at = np.stack(np.meshgrid(_GRID, _GRID, indexing="ij"), axis=-1)
        far = at - (share[..., None] * at).sum((0, 1))
        of_sizes = np.einsum("ij,ijk,ijl->kl", share, far, far)
        covariance[size:, size:] = of_sizes + 0.01 * np.eye(2)
        return covariance

    def robust(self, mode: Array) -> "_Evidence":
        """The same with runs that are far off, even from the drifted law, counting for less."""
        _, scatter, drift = self.block.split(mode)
        off = self.off(mode[None])[0]
        along = off @ self.along
        share = (drift * self.sizes[self.seen]) ** 2
        left = np.abs(off - self.along @ (along * share / (share + scatter**2))) / self.root
        spread = 1.4826 * np.median(left) + 1e-12
        weights = np.minimum(1.0, (_FAR * spread / np.maximum(left, 1e-300)) ** 2)
        return _Evidence(self.block, self.measured, self.walks, weights)

    def strayed(self, x: Array, random: np.random.Generator) -> dict[str, Array]:
        """The coefficients of the drift of every draw, by role, given what is off."""
        # Matheron's rule: a draw from before the runs, with noise of its own, is moved by what was
        # measured less what it would have given. Signs of the axes, which differ between
        # processors, then change no draw.
        _, scatter, drift = self.block.split(x)
        size, noise = drift[:, None], scatter[:, None]
        drawn = size * random.standard_normal((len(x), len(self.sizes)))
        if self.count:
            sizes, axes = self.sizes[self.seen], self.axes[:, self.seen]
            given = self.root * (drawn @ self.features.T)
            given += noise * random.standard_normal(given.shape)
            along = (self.off(x) - given) @ self.along
            drawn = drawn + (size**2 * sizes * along / (noise**2 + (size * sizes) ** 2)) @ axes.T
        each = self.walks.count
        return {
            role: drawn[:, i * each : (i + 1) * each] for i, role in enumerate(self.block.roles)
        }
