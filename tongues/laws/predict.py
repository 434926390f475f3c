"""What one more run would end at: a law, the error of its form, and the scatter of a run.

Of run i with variables x_i (those of its form, such as N and D) and loss L_i, nats per token:

    log L_i = f(p; x_i) + φ(x_i) c + e_i        law + drift + scatter
    p ~ Normal(m, P)             parameters of the form (`tongues.laws.coordinates`)
    c ~ Normal(0, s_d² I)        how the form itself is wrong
    e_i ~ Normal(0, s_e²/w_i)    of a single run, whose checkpoints' w sum to 1
    log s_d ~ Normal(log 0.04, 0.5²),  log s_e ~ Normal(log 0.005, 1.2²)

The drift is a sum of curves whose slopes are random walks: over log10 of compute, from the smallest
run on, and over log10 D/N, from the middle of the runs both ways.

On a grid of (s_d, s_e), f is linearised about its most probable p (Gauss-Newton). There (p, c) is
normal in closed form, and the evidence of the runs weighs the points of the grid. A run far from
its law and drift counts for less.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tongues.core.estimate import Estimate
from tongues.laws.coordinates import Chart, usual_of_form
from tongues.laws.forms import Form
from tongues.laws.rows import Rows, spent

Array = np.ndarray
# All constants by `benchmarks/extrapolation.py`.
DRIFT = (math.log(0.04), 0.5)  # of log s_d, which is the drift over a tenfold of compute
SCATTER = (math.log(0.005), 1.2)  # of log s_e
_SIZES = np.meshgrid(np.geomspace(0.012, 0.25, 6), np.geomspace(0.0008, 0.06, 6))
GRID = np.stack(_SIZES, axis=-1).reshape(-1, 2)
_COARSE = np.array([(0.015, 0.002), (0.04, 0.004), (0.1, 0.02)])  # to find p and weights from
# robust deviations beyond which a run counts for less; without it the CRPS is 16 % higher
_FAR = 2.5
_REWEIGHTINGS, _ALIKE = 3, 0.05  # of the weights, and their change that ends them
_ROUNDS, _STILL = 20, 0.03  # of the search for p, and the step that ends it
_STEPS = np.array([1.0, 0.4, 0.1, 0.02])  # of Gauss-Newton's: the best is taken
_APART, _FARTHEST = 0.5, 12.0  # of a walk's knots, in tenfolds
_CALMER = 0.7  # size of a walk's steps, of those a tenfold earlier
_OF_RATIO = 1.5  # size of the drift over D/N, in that over compute
_OF_EXPERTS = 0.5  # the same for each doubling of experts (`benchmarks/experts_real.txt`)
_UNKNOWN = 18.0  # log10 of the FLOPs from which a law drifts whose runs nobody knows


@dataclass(frozen=True, slots=True)
class Walks:
    """Where the drift begins: log10 of compute, and of D/N (None: no curve over it)."""

    start: float
    ratio: float | None = None
    size: float = 1.0  # of the drift, in the usual one

    def features(self, variables: Mapping[str, Array]) -> Array:
        """φ, a row a place."""
        walks = [_walk(np.log10(spent(variables)) - self.start)]
        if self.ratio is not None:
            along = np.log10(variables["D"] / variables["N"]) - self.ratio
            walks += [_OF_RATIO * _walk(along), _OF_RATIO * _walk(-along)]
        if "k" in variables:
            walks.append(_OF_EXPERTS * np.log2(variables["k"])[..., None] * walks[0])
        return self.size * np.concatenate(walks, axis=-1)


def _walk(gone: Array) -> Array:
    """What each step of the slope has added up to; of size 1 a tenfold away."""
    knots = np.arange(0.0, _FARTHEST, _APART)
    steps = _CALMER**knots
    unit = np.sqrt(((np.maximum(1.0 - knots, 0.0) * steps) ** 2).sum())
    return np.maximum(gone[..., None] - knots, 0.0) * steps / unit


@dataclass(frozen=True, slots=True, eq=False)
class _Posterior:
    """What runs leave to believe at each point of a grid (rows).

    z: about which f is linearised. mean, precision: of (z, c / s_d). evidence: its logarithm.
    off: log loss less law and drift, a column a run's row.
    """

    z: Array
    mean: Array
    precision: Array
    evidence: Array
    off: Array


def _posterior(
    chart: Chart, rows: Rows, phi: Array, weights: Array, grid: Array, z: Array
) -> _Posterior:
    """By Gauss-Newton from z, a row a point of the grid; phi: φ at the rows."""
    drift, scatter = grid.T
    y, w = np.log(rows.loss), weights / scatter[:, None] ** 2
    steps = drift[:, None, None] * phi
    along = w[..., None] * steps
    inside = np.linalg.inv(np.eye(phi.shape[1]) + along.swapaxes(1, 2) @ steps)

    def height(z: Array) -> Array:
        """Minus the log density of rows of z at each point, with their most probable drift."""
        off = y - chart.log_loss(z, rows.variables)
        seen = off @ along
        misses = (off**2 @ w[..., None])[..., 0] - ((seen @ inside) * seen).sum(-1)
        return misses + (z**2).sum(-1)

    def solve(z: Array) -> tuple[Array, ...]:
        """Linearised about z: what the runs ask for, their rows, the precision, pull and mean."""
        value, slopes = chart.look(z, rows.variables)
        target = y - value + (slopes @ z[..., None])[..., 0]
        design = np.concatenate([slopes, steps], axis=-1)
        weighted = (w[..., None] * design).swapaxes(1, 2)
        precision = np.eye(design.shape[-1]) + weighted @ design
        pull = weighted @ target[..., None]
        return target, design, precision, pull[..., 0], np.linalg.solve(precision, pull)[..., 0]

    target, design, precision, pull, mean = solve(z)
    for _ in range(_ROUNDS):
        step = mean[:, : z.shape[1]] - z
        if np.abs(step).max(initial=0.0) < _STILL:
            break
        trials = z[:, None] + _STEPS[:, None] * step[:, None]
        z = trials[np.arange(len(z)), height(trials).argmin(1)]
        target, design, precision, pull, mean = solve(z)
    misses = (w * target**2).sum(-1) - (pull * mean).sum(-1)
    volume = np.linalg.slogdet(precision)[1] + 2.0 * weights.sum() * np.log(scatter)
    thought = ((np.log(drift) - DRIFT[0]) / DRIFT[1]) ** 2
    thought = thought + ((np.log(scatter) - SCATTER[0]) / SCATTER[1]) ** 2
    off = target - (design @ mean[..., None])[..., 0]
    return _Posterior(z, mean, precision, -0.5 * (misses + volume + thought), off)


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Losses at some places, nats per token.

    point: the median of what one run there ends at. low, high: its 95 % predictive interval, of a
        single run: not the interval of the law's curve, which is narrower.
    draws: of one run at each place, (draws, places). A row is one law with its error, so that
        places are compared draw by draw.
    expected: the same without the scatter of a single run.
    """

    point: Array
    low: Array
    high: Array
    draws: Array
    expected: Array

    @property
    def estimates(self) -> list[Estimate]:
        """Each with its predictive interval."""
        rows = zip(self.point.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        return [Estimate(*row, unit="nats/token", method="predictive") for row in rows]


@dataclass(frozen=True, slots=True, eq=False)
class Predictor:
    """Draws of whole laws with their errors, to be asked anywhere: the same draws every time.

    z: where the form is linearised, a row a point of the grid. point: that of each draw. moved:
    from there to the draw's own z. strayed: its c. scatter: its s_e.
    """

    chart: Chart
    walks: Walks
    z: Array
    point: Array
    moved: Array
    strayed: Array
    scatter: Array
    seed: int

    def __call__(
        self, N: ArrayLike | None = None, D: ArrayLike | None = None, **others: ArrayLike
    ) -> Prediction:
        """What a run would end at; variables are the form's, as in `Law.loss`."""
        draws, expected = self.draws(N, D, **others)
        low, point, high = np.percentile(draws, (2.5, 50.0, 97.5), axis=0)
        return Prediction(point, low, high, draws, expected)

    def draws(
        self, N: ArrayLike | None = None, D: ArrayLike | None = None, **others: ArrayLike
    ) -> tuple[Array, Array]:
        """Draws of the loss of one run, and of the mean of many, (draws, places)."""
        known = self.chart.form.read({"N": N, "D": D} | others)
        arrays = np.broadcast_arrays(*known.values())
        variables = {name: np.ravel(v) for name, v in zip(known, arrays, strict=True)}
        value, slopes = self.chart.look(self.z, variables)
        logs = value[self.point] + self.strayed @ self.walks.features(variables).T
        for one in np.unique(self.point) if self.chart.names else ():
            own = self.point == one
            logs[own] += self.moved[own] @ slopes[one].T
        noise = np.random.default_rng(self.seed).standard_normal(logs.shape)
        return np.exp(logs + self.scatter[:, None] * noise), np.exp(logs)


def learn(
    form: Form,
    rows: Rows,
    params: Mapping[str, float],
    params_draws: Mapping[str, Array],
    fixed: Mapping[str, float],
    draws: int,
    seed: int,
) -> Predictor:
    """What the rows say of a law.

    params: of its fit; those without a prior are thought to be near these. params_draws: those of
    parameters taken from a base show how sure the base is. fixed: held at their value.
    """
    chart = usual_of_form(form, rows, params, params_draws, fixed)
    start, ratio = float(np.log10(spent(rows.variables).min())), None
    if {"N", "D"} <= rows.variables.keys():
        ratio = float(np.median(np.log10(rows.variables["D"] / rows.variables["N"])))
    walks = Walks(start, ratio, form.drift)
    features = walks.features(rows.variables)
    seen = (features != 0.0).any(axis=0)  # of the other coefficients the runs say nothing
    phi, weights = features[:, seen], 1.0 / np.bincount(rows.run)[rows.run]
    of_rows, z = weights, np.zeros((len(_COARSE), len(chart.names)))
    of = _posterior(chart, rows, phi, weights, _COARSE, z)
    for _ in range(_REWEIGHTINGS):
        off = np.abs(of.off[of.evidence.argmax()])
        far = off / (1.4826 * np.median(off) + 1e-12) / _FAR
        before, weights = weights, of_rows / np.maximum(far, 1.0) ** 2
        if np.abs(weights - before).max() < _ALIKE:
            break
        of = _posterior(chart, rows, phi, weights, _COARSE, of.z)
    z = np.tile(of.z[of.evidence.argmax()], (len(GRID), 1))
    of = _posterior(chart, rows, phi, weights, GRID, z)
    share = np.cumsum(np.exp(of.evidence - of.evidence.max()))
    random = np.random.default_rng(seed)
    levels = random.permutation((np.arange(draws) + 0.5) / draws)
    point = np.searchsorted(share / share[-1], levels)
    normal = random.standard_normal((draws, of.mean.shape[1]))
    moved = np.zeros((draws, z.shape[1]))
    strayed = random.standard_normal((draws, features.shape[1]))
    for one in np.unique(point):
        own = point == one
        upper = np.linalg.cholesky(of.precision[one]).T
        drawn = of.mean[one] + np.linalg.solve(upper, normal[own].T).T
        moved[own] = drawn[:, : z.shape[1]] - of.z[one]
        strayed[np.ix_(own, seen)] = drawn[:, z.shape[1] :]
    drift, scatter = GRID[point].T
    return Predictor(chart, walks, of.z, point, moved, drift[:, None] * strayed, scatter, seed)


def of_print(
    form: Form,
    params: Mapping[str, float],
    params_draws: Mapping[str, Array],
    ends: Mapping[str, tuple[float, float]],
    draws: int,
    seed: int,
) -> Predictor:
    """What is believed of a law without its runs: it drifts from the end of its range, `ends`."""
    of = params_draws or {name: np.array([value]) for name, value in params.items()}
    count = len(next(iter(of.values())))
    chart = Chart(form, {}, 1.0, {name: values[:, None] for name, values in of.items()})
    highest = {name: np.array([high]) for name, (_, high) in ends.items()}
    inside = {"C"} <= highest.keys() or {"N", "D"} <= highest.keys()
    walks = Walks(float(np.log10(spent(highest)[0])) if inside else _UNKNOWN)
    random, curves = np.random.default_rng(seed), 1 + ("k" in form.variables)
    normal = random.standard_normal((draws, curves * round(_FARTHEST / _APART)))
    drift, scatter = (
        np.exp(middle + wide * random.standard_normal(draws)) for middle, wide in (DRIFT, SCATTER)
    )
    nothing, point = np.zeros((count, 0)), np.resize(np.arange(count), draws)
    return Predictor(chart, walks, nothing, point, nothing, drift[:, None] * normal, scatter, seed)
