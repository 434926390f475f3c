"""What is thought of a law before its runs: a middle and a spread for each of its coordinates.

A coefficient's coordinate is the log of its term at the middle of the runs, in units of their loss;
so the same few numbers do for every form and every unit of loss. An exponent's is its logarithm,
or itself where it may be negative; that of an amount is the log of its share of the variable's.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tongues.laws.forms import Exponent, Form, Term

Array = np.ndarray
# by `benchmarks/extrapolation.py`: shares of the loss at the middle of the runs, and exponents
_FLOOR = (math.log(0.25), 1.0)
_SIZE = (math.log(0.15), 1.0)
_OTHER = (math.log(0.25), 1.0)
_POWERS = {"N": (math.log(0.3), 0.5), "C": (math.log(0.1), 0.7)}
_POWERS |= {"h": (math.log(0.04), 1.0)}
_POWER = (math.log(0.25), 0.5)
_SIGNED = (0.0, 0.15)
_FREE = 1.0  # deviation of the logarithm of a parameter that nothing is known of
_STEEPEST = math.log(4.0)  # an exponent beyond which a term is gone at once
_LEAST = 0.01  # of the middle draw: a taken parameter is not thought to be less


@dataclass(frozen=True, slots=True)
class Scale:
    """The middle that spreads are stated about: of each variable, and of the loss (nats)."""

    middle: Mapping[str, float]
    loss: float


@dataclass(frozen=True, slots=True)
class Chart:
    """From coordinates to the parameters of one form, and back."""

    form: Form
    scale: Scale

    def params(self, z: Mapping[str, Array]) -> dict[str, Array]:
        """Parameters by name."""
        signed, powers = self._powers()
        params = {n: z[n] if n in signed else np.exp(np.minimum(z[n], _STEEPEST)) for n in powers}
        for term in self.form.terms:
            params[term.coefficient] = np.exp(z[term.coefficient] + self._shift(term, params))
        others = [name for name in self.form.names if name not in params]
        return params | {name: np.exp(z[name] + self._amount(name)) for name in others}

    def coordinates(self, params: Mapping[str, float | Array]) -> dict[str, Array]:
        """The coordinates of parameters."""
        signed, _ = self._powers()
        z = {
            name: np.asarray(value) if name in signed else np.log(np.maximum(value, 1e-300))
            for name, value in params.items()
        }
        for term in self.form.terms:
            z[term.coefficient] = z[term.coefficient] - self._shift(term, params)
        return z | {name: z[name] - self._amount(name) for name in self.form.amounts if name in z}

    def _powers(self) -> tuple[set[str], set[str]]:
        powers = [power for term in self.form.terms for power in term.exponents]
        return {power.name for power in powers if power.low < 0}, {power.name for power in powers}

    def _amount(self, name: str) -> float:
        """The log of a variable at the middle, of a parameter that is an amount of it; else 0."""
        variable = self.form.amounts.get(name)
        return math.log(self.scale.middle[variable]) if variable else 0.0

    def _shift(self, term: Term, params: Mapping[str, float | Array]) -> float | Array:
        """The log of a coefficient less that of its term at the middle, in units of the loss."""
        middle = self.scale.middle
        logs = (params[one.name] * math.log(middle[one.variable]) for one in term.exponents)
        return math.log(self.scale.loss) + sum(logs)


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Coordinates by name, their middle, and the root of their covariance.

    fixed: coordinates of the parameters that are not looked for.
    """

    chart: Chart
    names: tuple[str, ...]
    middle: Array
    root: Array
    fixed: Mapping[str, Array]

    def params_of(self, role: str, z: Array) -> dict[str, Array]:
        """Parameters by name, of rows of coordinates."""
        named = {name: np.broadcast_to(value, len(z)) for name, value in self.fixed.items()}
        return self.chart.params(named | {name: z[:, i] for i, name in enumerate(self.names)})


def spread_of_form(chart: Chart, params: Mapping[str, float], draws: Mapping[str, Array]) -> Spread:
    """What is thought of the parameters of any form.

    params: of its fit, about which those are spread that no term and no `spread` of the form
        explains. draws: of which those of taken parameters give what is thought of these.
    """
    form, known = chart.form, dict[str, tuple[float, float]]()
    for term in form.terms:
        known[term.coefficient] = _of_coefficient(term)
        known |= {power.name: _of_power(power) for power in term.exponents}
    known |= form.spread
    at = chart.coordinates(params) if params else {}
    free = [name for name in form.free if name not in form.given]
    taken = [name for name in form.taken_names if name in draws]
    values = [known.get(name) or (float(at[name]), _FREE) for name in free]
    middle, deviation = np.array(values).reshape(-1, 2).T
    root = np.diag(deviation)
    if taken:
        least = {n: np.maximum(v, _LEAST * np.nanmedian(v)) for n, v in draws.items()}
        z = chart.coordinates({name: least[name] for name in form.names})
        of_base = np.stack([z[name] for name in taken])
        of_base = of_base[:, np.isfinite(of_base).all(0)]
        middle = np.concatenate([middle, np.median(of_base, axis=1)])
        covariance = np.cov(of_base) + 1e-10 * np.eye(len(taken))
        whole = np.zeros((len(middle), len(middle)))
        whole[: len(free), : len(free)] = root
        whole[len(free) :, len(free) :] = np.linalg.cholesky(np.atleast_2d(covariance))
        root = whole
    names = (*free, *taken)
    return Spread(chart, names, middle, root, {n: v for n, v in at.items() if n not in names})


def _of_coefficient(term: Term) -> tuple[float, float]:
    if not term.exponents:
        return _FLOOR
    return _SIZE if [power.variable for power in term.exponents] == ["N"] else _OTHER


def _of_power(power: Exponent) -> tuple[float, float]:
    return _SIGNED if power.low < 0 else _POWERS.get(power.variable, _POWER)
