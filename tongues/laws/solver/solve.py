"""The one solver: minimise the sum of Huber(log predicted − log measured) for any law."""

from dataclasses import dataclass

import numpy as np

from tongues.laws.solver.problem import Problem, emphasis, objective, solve_free

__all__ = ["Optimum", "descend", "solve"]

_SCOUTING = 40  # rounds before the worst third of the starts is given up
_ROUNDS = 1000  # healthy runs take 20, an E that vanishes several hundred
_TOLERANCE = 1e-10  # of the gradient, in units of delta
_STUCK = 1e12  # a damping beyond which rounding alone is left
_GAIN = 1e-14
_UNDAMPED = 1e-2
_IDLE = 3
_VANISHING = 1e-30


@dataclass(frozen=True, slots=True)
class Optimum:
    """Where the descent ended: free coordinates, objective and gradient norm, one a start.

    The gradient leaves out what presses against a bound; `curvature` is the Hessian.
    """

    theta: np.ndarray
    objective: np.ndarray
    gradient: np.ndarray
    curvature: np.ndarray


def solve(problem: Problem, weights: np.ndarray, context: np.ndarray) -> Optimum:
    """The best optimum for one weight a row and one context."""
    starts = problem.starts(weights, context)
    scouts = descend(problem, starts, weights[None], context, rounds=_SCOUTING)
    better = np.argsort(scouts.objective)[: -(-2 * len(starts) // 3)]
    ends = descend(problem, scouts.theta[better], weights[None], context)
    lowest = [ends.objective.argmin()]
    return Optimum(
        ends.theta[lowest], ends.objective[lowest], ends.gradient[lowest], ends.curvature[lowest]
    )


def descend(
    problem: Problem,
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
        residual, inner = _residual(problem, here, around)
        gradient, free = _gradient(problem, here, inner, residual, w)
        moving = np.abs(gradient).max(1) > _TOLERANCE * problem.delta
        moving &= (damping[live] < _STUCK) & (idle[live] < _IDLE)
        if not moving.any():
            break
        live, here, w, around, residual, inner, gradient, free = (
            a[moving] for a in (live, here, w, around, residual, inner, gradient, free)
        )
        pivot, slope = problem.sizes(inner, _pull(problem, residual, w))
        matrix = _hessian(problem, inner, residual, w, damping[live])
        matrix -= (pivot * slope[:, :, None]).swapaxes(1, 2) @ pivot
        step = solve_free(matrix, gradient, free)
        trial = np.clip(_moved(here, step, pivot), problem.low, problem.high)
        before = objective(residual, w, problem.delta)
        ahead = problem.predict(trial, around) - problem.log_loss
        with np.errstate(invalid="ignore"):  # a step out of all bounds is no better
            after = objective(ahead, w, problem.delta)
        better = after <= before * (1 + 1e-14)
        theta[live[better]] = trial[better]
        spent = better & (after > before * (1 - gain)) & (damping[live] < _UNDAMPED)
        idle[live] = np.where(spent, idle[live] + 1, 0)
        damping[live] *= np.where(better, 0.2, 4.0)
    residual, inner = _residual(problem, theta, context)
    gradient, _ = _gradient(problem, theta, inner, residual, weights)
    return Optimum(
        theta,
        objective(residual, weights, problem.delta),
        np.abs(gradient).max(1),
        _hessian(problem, inner, residual, weights, np.zeros(count)),
    )


def _residual(
    problem: Problem, theta: np.ndarray, context: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    predicted, inner = problem.look(theta, context)
    return predicted - problem.log_loss, inner


def _pull(problem: Problem, residual: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The slope of each row's Huber loss."""
    return weights * np.clip(residual, -problem.delta, problem.delta)


def _moved(theta: np.ndarray, step: np.ndarray, pivot: np.ndarray) -> np.ndarray:
    """A Newton step that is linear in the size of each term, though theta holds its log.

    So a term that should vanish does so at once, and one that should come back can.
    """
    change = (pivot @ step[:, :, None])[:, :, 0]
    moved = theta - step
    moved[:, : change.shape[1]] += change + np.log(np.maximum(1.0 - change, _VANISHING))
    return moved


def _gradient(
    problem: Problem,
    theta: np.ndarray,
    inner: np.ndarray,
    residual: np.ndarray,
    weights: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The gradient, zero where it presses against a bound, and which coordinates may move."""
    gradient = problem.gradient(inner, _pull(problem, residual, weights))
    low = (theta <= problem.low) & (gradient > 0)
    free = ~(low | ((theta >= problem.high) & (gradient < 0)))
    return gradient * free, free


def _hessian(
    problem: Problem,
    inner: np.ndarray,
    residual: np.ndarray,
    weights: np.ndarray,
    damping: np.ndarray,
) -> np.ndarray:
    """The Hessian plus `damping` times that of the re-weighted least squares."""
    delta = problem.delta
    outer = weights * (np.abs(residual) < delta)
    outer = outer + damping[:, None] * weights * emphasis(residual, delta)
    return problem.curvature(inner, _pull(problem, residual, weights), outer)
