"""The laws as data: a loss is a sum of terms, a term is a coefficient over powers of N, D or C.

A new law is one more `Form` in this file: names, terms, and which terms it takes from a base law.
The solver, the bootstrap and the files follow from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

__all__ = ["CPT", "FORMS", "POWER", "POWER_ABOVE", "SCRATCH", "Exponent", "Form", "Term", "Values"]

Values = Mapping[str, float] | Mapping[str, np.ndarray]

_POSITIVE = tuple(np.geomspace(0.02, 2.0, 16).tolist())
_SIGNED = tuple(np.linspace(-0.4, 1.2, 17).tolist())


@dataclass(frozen=True, slots=True)
class Exponent:
    """A power of one variable: `variable ** -name`, looked for on `grid`, kept in `[low, high]`."""

    name: str
    variable: str
    low: float = 0.01
    high: float = 3.0
    grid: tuple[float, ...] = _POSITIVE


@dataclass(frozen=True, slots=True)
class Term:
    """One addend of a law: a positive coefficient over powers of the variables."""

    coefficient: str
    exponents: tuple[Exponent, ...] = ()

    def value(self, params: Values, variables: Values) -> np.ndarray:
        """The term in nats per token; parameters and variables broadcast."""
        value = np.asarray(params[self.coefficient])
        for exponent in self.exponents:
            value = value * variables[exponent.variable] ** -params[exponent.name]
        return value


@dataclass(frozen=True, slots=True)
class Form:
    """A law's shape: `fitted` terms, and `taken` terms whose parameters come from a base law."""

    name: str
    fitted: tuple[Term, ...]
    taken: tuple[Term, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every parameter, coefficients first, in the order people write them: E A B alpha beta."""
        return _names(self.taken + self.fitted)

    @property
    def free(self) -> tuple[str, ...]:
        """The parameters a fit of this form finds."""
        return _names(self.fitted)

    @property
    def exponents(self) -> dict[str, Exponent]:
        """The fitted exponents by name."""
        return {one.name: one for term in self.fitted for one in term.exponents}

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables the fitted terms depend on."""
        return tuple(dict.fromkeys(e.variable for term in self.fitted for e in term.exponents))

    def known(self, params: Values, variables: Values) -> np.ndarray:
        """The part of the loss that the taken terms fix, in nats per token."""
        return _total(self.taken, params, variables)

    def loss(self, params: Values, variables: Values) -> np.ndarray:
        """The law itself, in nats per token; parameters and variables broadcast."""
        return _total(self.taken + self.fitted, params, variables)


def _names(terms: tuple[Term, ...]) -> tuple[str, ...]:
    coefficients = [term.coefficient for term in terms]
    exponents = [exponent.name for term in terms for exponent in term.exponents]
    return tuple(dict.fromkeys(coefficients + exponents))


def _total(terms: tuple[Term, ...], params: Values, variables: Values) -> np.ndarray:
    shape = np.broadcast_shapes(*(np.shape(value) for value in variables.values()))
    return sum((term.value(params, variables) for term in terms), np.zeros(shape))


_E = Term("E")
_A = Term("A", (Exponent("alpha", "N"),))
_BETA = Exponent("beta", "D")
_GAMMA = Exponent("gamma", "N", low=-1.0, grid=_SIGNED)

SCRATCH = Form("scratch", fitted=(_E, _A, Term("B", (_BETA,))))
CPT = Form("cpt", taken=(_E, _A), fitted=(Term("B", (_BETA, _GAMMA)),))

_OF_COMPUTE = Term("A", (Exponent("g", "C"),))
POWER = Form("power", taken=(_E,), fitted=(_OF_COMPUTE,))
POWER_ABOVE = Form("power above E", fitted=(_E, _OF_COMPUTE))

FORMS = {form.name: form for form in (SCRATCH, CPT)}
