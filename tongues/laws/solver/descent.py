"""The one solver: minimise the sum of Huber(log predicted − log measured) for any law."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from tongues.laws.forms import Form

DELTA = 1e-3  # the Huber threshold of Hoffmann et al. 2022, in log loss
_SCOUTING = 40  # rounds before the worst third of the starts is given up
_ROUNDS = 1000  # healthy runs take 20, an E that vanishes several hundred
_TOLERANCE = 1e-10  # of the gradient, in units of delta
_STUCK = 1e12  # a damping beyond which rounding alone is left
_GAIN = 1e-14  # of the objective, which a step must win: rounding moves it by as much
_UNDAMPED = 1e-2  # a damping below which a step is Newton's own, so that winning nothing is the end
_IDLE = 3  # such steps in a row end a descent; chosen: one alone may win nothing by rounding
_VANISHING = 1e-30  # the least a step leaves of a term's size, whose log is a coordinate


@dataclass(frozen=True, slots=True, kw_only=True)
class FitProblem(ABC):
    """Rows and a law, laid out for batched algebra; arrays lead with an axis of starts or draws.

    names: the parameters to be found, the free coordinates in order; low, high: their bounds.
    log_loss: what was measured, a row each. delta: the Huber threshold, in log loss.
    """

    form: Form
    names: tuple[str, ...]
    log_loss: np.ndarray
    variables: Mapping[str, np.ndarray]
    low: np.ndarray
    high: np.ndarray
    delta: float

    @abstractmethod
    def context(self, taken: Mapping[str, np.ndarray]) -> np.ndarray:
        """What parameters taken from a base mean for the rows, (1 or draws, …)."""

    @abstractmethod
    def predict(self, theta: np.ndarray, context: np.ndarray) -> np.ndarray:
        """The log of the predicted loss."""

    @abstractmethod
    def look(self, theta: np.ndarray, context: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The log of the predicted loss, and what slopes are made of."""

    @abstractmethod
    def gradient(self, inner: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """The sum over rows of `pull` times the slope of the log prediction."""

    @abstractmethod
    def curvature(self, inner: np.ndarray, pull: np.ndarray, outer: np.ndarray) -> np.ndarray:
        """The sum over rows of `outer` times slope by slope, plus `pull` times the bend."""

    @abstractmethod
    def sizes(self, inner: np.ndarray, pull: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How the log size of each scaled part moves with the coordinates, and its gradient.

        A size is a coefficient in the units of the rows where it matters; the first coordinates
        are their logs. None where a law has no linear part.
        """

    @abstractmethod
    def starts(self, weights: np.ndarray, context: np.ndarray) -> np.ndarray:
        """Free coordinates worth starting from, (starts, coordinates)."""

    @abstractmethod
    def params(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters by name, as a user knows them, from free coordinates (last axis)."""

    def slope(
        self, theta: np.ndarray, inner: np.ndarray, pull: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The gradient, zero where it presses against a bound, and which coordinates may move."""
        gradient = self.gradient(inner, pull)
        low = (theta <= self.low) & (gradient > 0)
        free = ~(low | ((theta >= self.high) & (gradient < 0)))
        return gradient * free, free

    def hessian(
        self, inner: np.ndarray, residual: np.ndarray, weights: np.ndarray, damping: np.ndarray
    ) -> np.ndarray:
        """The Hessian plus `damping` times that of the re-weighted least squares."""
        outer = weights * (np.abs(residual) < self.delta)
        outer = outer + damping[:, None] * weights * emphasis(residual, self.delta)
        return self.curvature(inner, self.pull(residual, weights), outer)

    def pull(self, residual: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The slope of each row's Huber loss."""
        return weights * np.clip(residual, -self.delta, self.delta)


def objective(residual: np.ndarray, weights: np.ndarray, delta: float) -> np.ndarray:
    """The sum of Huber losses."""
    clipped = np.clip(residual, -delta, delta)
    return (weights * clipped * (residual - 0.5 * clipped)).sum(-1)


def emphasis(residual: np.ndarray, delta: float) -> np.ndarray:
    """The weights that make least squares touch the Huber loss from above."""
    return delta / np.maximum(np.abs(residual), delta)


def solve_free(matrix: np.ndarray, vector: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Solve for the free parameters, the others zero; a whisper of ridge keeps LAPACK content."""
    both = free[:, :, None] & free[:, None, :]
    scale = np.abs(matrix).max((1, 2), keepdims=True) + np.finfo(float).tiny
    matrix = np.where(both, matrix / scale, 0.0)
    matrix += np.where(free, 1e-14, 1.0)[:, :, None] * np.eye(vector.shape[1])
    return np.linalg.solve(matrix, (vector * free)[..., None] / scale)[..., 0]


@dataclass(frozen=True, slots=True)
class Optimum:
    """Where the descent ended: free coordinates, objective and gradient norm, one a start.

    The gradient leaves out what presses against a bound; `curvature` is the Hessian.
    """

    theta: np.ndarray
    objective: np.ndarray
    gradient: np.ndarray
    curvature: np.ndarray


def solve(problem: FitProblem, weights: np.ndarray, context: np.ndarray) -> Optimum:
    """The best optimum for one weight a row and one context."""
    starts = problem.starts(weights, context)
    scouts = descend(problem, starts, weights[None], context, rounds=_SCOUTING)
    better = np.argsort(scouts.objective)[: -(-2 * len(starts) // 3)]
    ends = descend(problem, scouts.theta[better], weights[None], context)
    lowest = [ends.objective.argmin()]
    return Optimum(*(getattr(ends, field.name)[lowest] for field in fields(Optimum)))


def descend(
    problem: FitProblem,
    start: np.ndarray,
    weights: np.ndarray,
    context: np.ndarray,
    *,
    rounds: int = _ROUNDS,
    gain: float = _GAIN,
) -> Optimum:
    """Damped Newton from every start at once.

    start: free coordinates, (starts, coordinates).
    weights: how often each row counts, (1 or starts, rows).
    context: what taken parameters mean for the rows, (1 or starts, …).
    rounds: where to give up.
    gain: the share of the objective that undamped steps must win; a few that do not end a descent.
    """
    theta = np.clip(start, problem.low, problem.high)
    count = len(theta)
    weights = np.broadcast_to(weights, (count, weights.shape[1]))
    context = np.broadcast_to(context, (count, context.shape[1]))
    damping, idle, live = np.ones(count), np.zeros(count), np.arange(count)
    for _ in range(rounds):
        here, w, around = theta[live], weights[live], context[live]
        predicted, inner = problem.look(here, around)
        residual = predicted - problem.log_loss
        gradient, free = problem.slope(here, inner, problem.pull(residual, w))
        moving = np.abs(gradient).max(1) > _TOLERANCE * problem.delta
        moving &= (damping[live] < _STUCK) & (idle[live] < _IDLE)
        if not moving.any():
            break
        live, here, w, around, residual, inner, gradient, free = (
            a[moving] for a in (live, here, w, around, residual, inner, gradient, free)
        )
        pivot, slope = problem.sizes(inner, problem.pull(residual, w))
        matrix = problem.hessian(inner, residual, w, damping[live])
        matrix -= (pivot * slope[:, :, None]).swapaxes(1, 2) @ pivot
        step = solve_free(matrix, gradient, free)
        # linear in the size of each term, though theta holds its log: so a term that should
        # vanish does so at once, and one that should come back can
        change, trial = (pivot @ step[:, :, None])[:, :, 0], here - step
        trial[:, : change.shape[1]] += change + np.log(np.maximum(1.0 - change, _VANISHING))
        trial = np.clip(trial, problem.low, problem.high)
        before = objective(residual, w, problem.delta)
        ahead = problem.predict(trial, around) - problem.log_loss
        with np.errstate(invalid="ignore"):  # a step out of all bounds is no better
            after = objective(ahead, w, problem.delta)
        better = after <= before * (1 + 1e-14)
        theta[live[better]] = trial[better]
        spent = better & (after > before * (1 - gain)) & (damping[live] < _UNDAMPED)
        idle[live] = np.where(spent, idle[live] + 1, 0)
        damping[live] *= np.where(better, 0.2, 4.0)
    predicted, inner = problem.look(theta, context)
    residual = predicted - problem.log_loss
    gradient, _ = problem.slope(theta, inner, problem.pull(residual, weights))
    hessian = problem.hessian(inner, residual, weights, np.zeros(count))
    height = objective(residual, weights, problem.delta)
    return Optimum(theta, height, np.abs(gradient).max(1), hessian)
