"""Forms that are sums of power terms: a coefficient over powers of the variables.

The logarithm of each term is linear in the parameters, which makes a fit fast and exact.
"""

from dataclasses import dataclass

import numpy as np

from tongues.laws.forms.form import Form
from tongues.laws.forms.terms import Term, TwoTerms, Values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PowerForm(Form):
    """A sum of `fitted` terms, and of `taken` terms whose parameters come from the base.

    One with a term of N alone and a term of D, and at most a floor, splits compute without
    further code.
    """

    fitted: tuple[Term, ...]
    taken: tuple[Term, ...] = ()

    def __post_init__(self) -> None:
        """Read names and variables off the terms, and the split they allow."""
        terms = self.taken + self.fitted
        free = _names(self.fitted)
        values = {
            "free": free,
            "terms": terms,
            "taken_names": tuple(name for name in _names(self.taken) if name not in free),
            "variables": tuple(dict.fromkeys(e.variable for t in terms for e in t.exponents)),
            "split": self.split or TwoTerms.of(terms),
        }
        for name, value in values.items():
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
        return tuple(one.name for term in self.fitted for one in term.exponents)

    def limits(self, name: str) -> tuple[float, float, bool]:
        """An exponent within its bounds, a coefficient from zero on."""
        power = self.powers.get(name)
        return (power.low, power.high, True) if power else (0.0, np.inf, True)

    def known(self, params: Values, variables: Values) -> np.ndarray:
        """The sum of the taken terms."""
        return _total(self.taken, params, variables)

    def loss(self, params: Values, variables: Values) -> np.ndarray:
        """The sum of all terms."""
        return _total(self.taken + self.fitted, params, variables)


def _names(terms: tuple[Term, ...]) -> tuple[str, ...]:
    coefficients = [term.coefficient for term in terms]
    exponents = [exponent.name for term in terms for exponent in term.exponents]
    return tuple(dict.fromkeys(coefficients + exponents))


def _total(terms: tuple[Term, ...], params: Values, variables: Values) -> np.ndarray:
    shape = np.broadcast_shapes(*(np.shape(value) for value in variables.values()))
    return sum((term.value(params, variables) for term in terms), np.zeros(shape))
