"""The one solver: minimise the sum of Huber(log predicted − log measured) for any law."""

from dataclasses import dataclass, fields

import numpy as np

from tongues.laws.solver.problem import FitProblem, objective, solve_free

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
    predicted, inner = problem.look(theta, context)
    residual = predicted - problem.log_loss
    gradient, _ = problem.slope(theta, inner, problem.pull(residual, weights))
    hessian = problem.hessian(inner, residual, weights, np.zeros(count))
    height = objective(residual, weights, problem.delta)
    return Optimum(theta, height, np.abs(gradient).max(1), hessian)


def _moved(theta: np.ndarray, step: np.ndarray, pivot: np.ndarray) -> np.ndarray:
    """A Newton step that is linear in the size of each term, though theta holds its log.

    So a term that should vanish does so at once, and one that should come back can.
    """
    change = (pivot @ step[:, :, None])[:, :, 0]
    moved = theta - step
    moved[:, : change.shape[1]] += change + np.log(np.maximum(1.0 - change, _VANISHING))
    return moved
