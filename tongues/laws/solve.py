"""The one solver: minimise the sum of Huber(log predicted − log measured) for any form.

Every law is a sum of terms whose logarithms are linear in the parameters (log coefficients and
exponents), so gradient and Hessian are exact and short. Logs are centred on the data, which takes
the Hessian's condition number from about 1e13 to 1e4.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from tongues.laws.forms import Form

__all__ = ["Optimum", "Problem", "descend", "pose", "solve"]

_FLOOR = 1e-6  # the smallest a term may be beside the lowest loss
_STARTS = 6
_REWEIGHTINGS = 4
_ROUNDS = 1000  # healthy runs take 20, an E that vanishes several hundred
_TOLERANCE = 1e-10  # of the gradient, in units of delta
_STUCK = 1e12  # a damping beyond which rounding alone is left


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows and a form, laid out for batched algebra.

    `design[t, r, p]` is the derivative of term t's log at row r by parameter p; `centre` is the
    mean log of each variable; `low` and `high` bound the centred parameters, ordered as
    `form.free`.
    """

    form: Form
    log_loss: np.ndarray
    design: np.ndarray
    centre: dict[str, float]
    low: np.ndarray
    high: np.ndarray
    delta: float

    def params(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters by name, as a user knows them, from centred ones (last axis)."""
        values = dict(zip(self.form.free, np.moveaxis(theta, -1, 0), strict=True))
        for term in self.form.fitted:
            shift = sum(values[e.name] * self.centre[e.variable] for e in term.exponents)
            values[term.coefficient] = np.exp(values[term.coefficient] + shift)
        return values


@dataclass(frozen=True, slots=True)
class Optimum:
    """Where the descent ended: centred parameters, objective and gradient norm, one a start.

    The gradient leaves out what presses against a bound; `curvature` is the exact Hessian.
    """

    theta: np.ndarray
    objective: np.ndarray
    gradient: np.ndarray
    curvature: np.ndarray


def pose(form: Form, variables: dict[str, np.ndarray], loss: np.ndarray, delta: float) -> Problem:
    """Lay out rows (variables and loss in nats per token) for the solver."""
    names = form.free
    logs = {name: np.log(variables[name]) for name in form.variables}
    centre = {name: float(values.mean()) for name, values in logs.items()}
    design = np.zeros((len(form.fitted), len(loss), len(names)))
    low = np.full(len(names), np.log(loss.min() * _FLOOR))
    high = np.full(len(names), np.log(loss.max() / _FLOOR))
    for term, block in zip(form.fitted, design, strict=True):
        block[:, names.index(term.coefficient)] = 1.0
        for exponent in term.exponents:
            column = names.index(exponent.name)
            block[:, column] -= logs[exponent.variable] - centre[exponent.variable]
            low[column], high[column] = exponent.low, exponent.high
    return Problem(form, np.log(loss), design, centre, low, high, delta)


def solve(problem: Problem, weights: np.ndarray, known: np.ndarray) -> Optimum:
    """The best optimum for one weight and one known part of the loss per row."""
    ends = descend(problem, _starts(problem, weights, known), weights[None], known[None])
    best = [ends.objective.argmin()]
    return Optimum(
        ends.theta[best], ends.objective[best], ends.gradient[best], ends.curvature[best]
    )


def descend(
    problem: Problem,
    start: np.ndarray,
    weights: np.ndarray,
    known: np.ndarray,
    *,
    rounds: int = _ROUNDS,
) -> Optimum:
    """Damped Newton from every start at once.

    start: centred parameters, (starts, parameters).
    weights: how often each row counts, (1 or starts, rows).
    known: the loss that taken terms fix, (1 or starts, rows).
    rounds: where to give up.
    """
    theta = np.clip(start, problem.low, problem.high)
    count, rows = len(theta), len(problem.log_loss)
    weights, known = (np.broadcast_to(a, (count, rows)) for a in (weights, known))
    damping, live = np.ones(count), np.arange(count)
    for _ in range(rounds):
        here, w, k = theta[live], weights[live], known[live]
        share, residual = _model(problem, here, k)
        gradient, free = _gradient(problem, here, share, residual, w)
        moving = (np.abs(gradient).max(1) > _TOLERANCE * problem.delta) & (damping[live] < _STUCK)
        if not moving.any():
            break
        live, here, w, k, share, residual, gradient, free = (
            a[moving] for a in (live, here, w, k, share, residual, gradient, free)
        )
        matrix = _hessian(problem, share, residual, w, damping[live])
        step = _solve_free(matrix, gradient, free)
        trial = np.clip(here - step, problem.low, problem.high)
        before = _objective(residual, w, problem.delta)
        after = _objective(_model(problem, trial, k)[1], w, problem.delta)
        better = after <= before * (1 + 1e-14)
        theta[live[better]] = trial[better]
        damping[live] *= np.where(better, 0.3, 10.0)
    share, residual = _model(problem, theta, known)
    gradient, _ = _gradient(problem, theta, share, residual, weights)
    return Optimum(
        theta,
        _objective(residual, weights, problem.delta),
        np.abs(gradient).max(1),
        _hessian(problem, share, residual, weights, np.zeros(count)),
    )


def _starts(problem: Problem, weights: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The best of a grid over the exponents, the coefficients solved linearly at each point."""
    names = problem.form.free
    terms = len(problem.form.fitted)
    axes = [exponent.grid for exponent in problem.form.exponents.values()]
    theta = np.array([(0.0,) * terms + point for point in product(*axes)])
    loss = np.exp(problem.log_loss)
    flat = problem.design.reshape(-1, len(names))
    columns = np.exp(theta @ flat.T).reshape(len(theta), terms, -1) / loss
    target = 1.0 - known / loss
    coefficients, residual = np.ones((len(theta), terms)), np.zeros((len(theta), len(loss)))
    floor, ceiling = np.exp(problem.low[:terms]), np.exp(problem.high[:terms])
    for _ in range(_REWEIGHTINGS):
        emphasis = weights * _emphasis(residual, problem.delta)
        weighted = columns * emphasis[:, None]
        matrix = weighted @ columns.swapaxes(1, 2)
        vector = weighted @ target
        every = np.ones_like(vector, dtype=bool)
        # a negative coefficient is dropped once; the descent does the rest
        positive = _solve_free(matrix, vector, every) > 0
        coefficients = np.clip(_solve_free(matrix, vector * positive, positive), floor, ceiling)
        residual = np.log((coefficients[:, None] @ columns)[:, 0] + known / loss)
    theta[:, :terms] = np.log(coefficients)
    order = np.argsort(_objective(residual, weights, problem.delta))
    return theta[order[:_STARTS]]


def _model(problem: Problem, theta: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each term's share of the predicted loss, and the log residual."""
    terms, rows, size = problem.design.shape
    value = np.exp(theta @ problem.design.reshape(-1, size).T).reshape(-1, terms, rows)
    total = value.sum(1) + known
    value /= total[:, None]
    return value, np.log(total) - problem.log_loss


def _objective(residual: np.ndarray, weights: np.ndarray, delta: float) -> np.ndarray:
    clipped = np.clip(residual, -delta, delta)
    return (weights * clipped * (residual - 0.5 * clipped)).sum(-1)


def _emphasis(residual: np.ndarray, delta: float) -> np.ndarray:
    """The weights that make least squares touch the Huber loss from above."""
    return delta / np.maximum(np.abs(residual), delta)


def _gradient(
    problem: Problem,
    theta: np.ndarray,
    share: np.ndarray,
    residual: np.ndarray,
    weights: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The gradient, zero where it presses against a bound, and which parameters may move."""
    pull = weights * np.clip(residual, -problem.delta, problem.delta)
    size = theta.shape[1]
    gradient = (pull[:, None] * share).reshape(len(theta), -1) @ problem.design.reshape(-1, size)
    low = (theta <= problem.low) & (gradient > 0)
    free = ~(low | ((theta >= problem.high) & (gradient < 0)))
    return gradient * free, free


def _hessian(
    problem: Problem,
    share: np.ndarray,
    residual: np.ndarray,
    weights: np.ndarray,
    damping: np.ndarray,
) -> np.ndarray:
    """The exact Hessian plus `damping` times that of the re-weighted least squares."""
    delta, design = problem.delta, problem.design
    terms, rows, size = design.shape
    pull = weights * np.clip(residual, -delta, delta)
    jacobian = np.einsum("ktr,trp->kpr", share, design)
    outer = weights * (np.abs(residual) < delta) - pull
    outer += damping[:, None] * weights * _emphasis(residual, delta)
    squares = (design[..., :, None] * design[..., None, :]).reshape(terms * rows, size * size)
    bend = (pull[:, None] * share).reshape(len(share), -1) @ squares
    return (jacobian * outer[:, None]) @ jacobian.swapaxes(1, 2) + bend.reshape(-1, size, size)


def _solve_free(matrix: np.ndarray, vector: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Solve for the free parameters, the others zero; a whisper of ridge keeps LAPACK content."""
    size = vector.shape[1]
    both = free[:, :, None] & free[:, None, :]
    scale = np.abs(matrix).max((1, 2), keepdims=True) + np.finfo(float).tiny
    matrix = np.where(both, matrix / scale, 0.0)
    matrix += np.where(free, 1e-14, 1.0)[:, :, None] * np.eye(size)
    return np.linalg.solve(matrix, (vector * free)[..., None] / scale)[..., 0]
