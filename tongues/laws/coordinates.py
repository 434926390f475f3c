"""Coordinates of a form's parameters, in which what is usual of laws is a normal distribution.

A coefficient's coordinate is the log of its term at the middle of the runs, in units of their loss,
so the same few numbers do for every form and every unit. An exponent's is its logarithm, or itself
where it may be negative. A base's parameters have the mean and covariance of its draws.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tongues.laws.forms import Form, Term
from tongues.laws.rows import Rows

Array = np.ndarray
# The middle and the deviation of coordinates, set on the studies of `benchmarks/extrapolation.py`.
_FLOOR = (math.log(0.65), 0.4)  # of a floor, in units of the lowest loss
_TERM = (math.log(0.25), 0.8)  # of another term, in units of the middle loss
_POWERS = {"N": (math.log(0.35), 0.4), "C": (math.log(0.1), 0.7)}  # of exponents of size, compute
_POWER = (math.log(0.3), 0.4)  # of another exponent
_SIGNED = (0.0, 0.3)  # of one that may be negative, such as gamma
_FREE = 1.0  # deviation of the logarithm of a parameter that nothing is known of
_LEAST = 0.01  # of the median draw: a taken parameter is not thought to be less
_STEEPEST = math.log(4.0)  # an exponent beyond which a term is gone at once
_SLOPE = 1e-5  # step of a difference


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """Coordinates of a form's parameters, `middle + root @ z`, where z is standard normal.

    known: the parameters that have no coordinate. variables, loss: their middle over the runs.
    """

    form: Form
    variables: Mapping[str, float]
    loss: float
    known: Mapping[str, float | Array]
    names: tuple[str, ...] = ()
    middle: Array = field(default_factory=lambda: np.zeros(0))
    root: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def log_loss(self, z: Array, variables: Mapping[str, Array]) -> Array:
        """Log loss by the law at rows of z, a column a place."""
        at = self.middle + z @ self.root.T
        coordinates = {name: at[..., i, None] for i, name in enumerate(self.names)}
        with np.errstate(all="ignore"):
            logs = np.log(self.form.loss(self._params(coordinates), variables))
        return np.where(np.isfinite(logs), logs, 1e3)

    def look(self, z: Array, variables: Mapping[str, Array]) -> tuple[Array, Array]:
        """Log loss by the law at rows of z, and its slopes by z, along a last axis."""
        if not self.names:
            return self.log_loss(z, variables), np.zeros((len(z), 1, 0))
        steps = np.vstack([np.zeros(len(self.names)), _SLOPE * np.eye(len(self.names))])
        values = self.log_loss(z[:, None] + steps, variables)
        return values[:, 0], ((values[:, 1:] - values[:, :1]) / _SLOPE).swapaxes(1, 2)

    def coordinate(self, name: str, params: Mapping[str, float | Array]) -> Array:
        """That of one parameter."""
        power = self.form.powers.get(name)
        if power and power.low < 0:
            return np.asarray(params[name])
        log = np.log(np.maximum(params[name], 1e-300))
        return np.asarray(log if power else log - self._shift(name, params))

    def _params(self, coordinates: Mapping[str, Array]) -> dict[str, Array]:
        params, powers = dict[str, Any](self.known), self.form.powers
        for name in sorted(coordinates, key=lambda name: name not in powers):  # the powers first
            power, at = powers.get(name), coordinates[name]
            if power:
                params[name] = at if power.low < 0 else np.exp(np.minimum(at, _STEEPEST))
            else:
                params[name] = np.exp(at + self._shift(name, params))
        return params

    def _shift(self, name: str, params: Mapping[str, float | Array]) -> float | Array:
        """The log of a coefficient, or of an amount of a variable, less its coordinate."""
        for term in self.form.terms:
            if term.coefficient == name:
                logs = (
                    params[e.name] * math.log(self.variables[e.variable]) for e in term.exponents
                )
                return math.log(self.loss) + sum(logs)
        variable = self.form.amounts.get(name)
        return math.log(self.variables[variable]) if variable else 0.0


def _prior(term: Term, lowest: float) -> tuple[float, float]:
    """Of a coefficient; lowest: of the losses, relative to their middle."""
    return _TERM if term.exponents else (_FLOOR[0] + math.log(lowest), _FLOOR[1])


def usual_of_form(
    form: Form,
    rows: Rows,
    params: Mapping[str, float],
    draws: Mapping[str, Array],
    fixed: Mapping[str, float],
) -> Chart:
    """What is thought of a law's parameters before its runs; arguments as for `learn`."""
    variables = {n: float(np.exp(np.log(v[v > 0]).mean())) for n, v in rows.variables.items()}
    loss = float(np.exp(np.log(rows.loss).mean()))
    bare = Chart(form, variables, loss, {})
    priors = {t.coefficient: _prior(t, float(rows.loss.min()) / loss) for t in form.terms}
    for name, power in form.powers.items():
        priors[name] = _SIGNED if power.low < 0 else _POWERS.get(power.variable, _POWER)
    priors |= form.spread
    free = [name for name in form.free if name not in fixed]
    of = [priors.get(n) or (float(bare.coordinate(n, params)), _FREE) for n in free]
    middle, deviation = np.array(of).reshape(-1, 2).T
    root, taken = np.diag(deviation), [name for name in form.taken_names if name in draws]
    if taken:
        least = {n: np.maximum(v, _LEAST * np.nanmedian(v)) for n, v in draws.items()}
        of_base = np.stack([bare.coordinate(name, least) for name in taken])
        of_base = of_base[:, np.isfinite(of_base).all(0)]
        covariance = np.atleast_2d(np.cov(of_base)) + 1e-10 * np.eye(len(taken))
        middle = np.concatenate([middle, np.median(of_base, axis=1)])
        root = np.zeros((len(middle), len(middle)))
        root[: len(free), : len(free)] = np.diag(deviation)
        root[len(free) :, len(free) :] = np.linalg.cholesky(covariance)
    names = (*free, *taken)
    known = {name: value for name, value in params.items() if name not in names}
    return Chart(form, variables, loss, known, names, middle, root)
