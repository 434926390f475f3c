"""Forms that are sums of power terms: a coefficient over powers of the variables.

The logarithm of each term is linear in the parameters, which makes a fit fast and exact.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tongues.laws.forms.form import Form, Values
from tongues.laws.forms.two_terms import TwoTerms

__all__ = ["SIGNED", "Exponent", "PowerForm", "Term"]

_POSITIVE = tuple(np.geomspace(0.02, 2.0, 12).tolist())
SIGNED = tuple(np.linspace(-0.6, 1.6, 12).tolist())


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PowerForm(Form):
    """A sum of `fitted` terms, and of `taken` terms whose parameters come from the base.

    One with a term of N alone and a term of D, and at most a floor besides, splits compute and is
    inverted without being told how.
    """

    fitted: tuple[Term, ...]
    taken: tuple[Term, ...] = ()

    def __post_init__(self) -> None:
        """Read names and variables off the terms, and the split and the inverse they allow."""
        terms = self.taken + self.fitted
        free = _names(self.fitted)
        found = {
            "free": free,
            "taken_names": tuple(name for name in _names(self.taken) if name not in free),
            "variables": tuple(dict.fromkeys(e.variable for t in terms for e in t.exponents)),
        }
        two = _two_terms(terms)
        found |= {"split": self.split or two, "inverse": self.inverse or two}
        for name, value in found.items():
            object.__setattr__(self, name, value)
        Form.__post_init__(self)

    @property
    def names(self) -> tuple[str, ...]:
        """Every parameter, coefficients first: E A B alpha beta."""
        return _names(self.taken + self.fitted)

    @property
    def floor(self) -> str | None:
        """The coefficient of a fitted term that nothing weakens."""
        return next((term.coefficient for term in self.fitted if not term.exponents), None)

    @property
    def exponents(self) -> tuple[str, ...]:
        """The fitted exponents."""
        return tuple(self.powers)

    @property
    def powers(self) -> dict[str, Exponent]:
        """The fitted exponents by name."""
        return {one.name: one for term in self.fitted for one in term.exponents}

    def limits(self, name: str) -> tuple[float, float, bool]:
        """An exponent within its bounds, a coefficient from zero on."""
        power = self.powers.get(name)
        return (power.low, power.high, True) if power else (0.0, np.inf, True)

    def finds_size(self, free: Iterable[str]) -> bool:
        """Whether an exponent of N is looked for."""
        return any(self.powers[name].variable == "N" for name in free if name in self.powers)

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


def _two_terms(terms: tuple[Term, ...]) -> TwoTerms | None:
    """The closed forms of a floor, a term of N, and one of D that N may weaken; else None."""
    by_powers = {tuple(e.variable for e in term.exponents): term for term in terms}
    tokens = by_powers.get(("D",)) or by_powers.get(("D", "N"))
    floor, size = by_powers.get(()), by_powers.get(("N",))
    if tokens is None or size is None or len(terms) != 2 + (floor is not None):
        return None
    beta, *joint = (exponent.name for exponent in tokens.exponents)
    return TwoTerms(
        E=floor.coefficient if floor else None,
        A=size.coefficient,
        alpha=size.exponents[0].name,
        B=tokens.coefficient,
        beta=beta,
        gamma=joint[0] if joint else None,
    )
