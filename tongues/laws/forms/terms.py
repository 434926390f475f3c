"""Terms of a law, and the closed forms of a law with one term of size and one of tokens."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

Values = Mapping[str, float] | Mapping[str, np.ndarray]
"""Parameters or variables by name: numbers or arrays."""

_ENDLESS = 600.0  # a log coefficient beyond which no number holds it
# Exponents to start from; those of `laws/presets.py` are 0.05 to 0.4.
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


@dataclass(frozen=True, slots=True)
class TwoTerms:
    """Closed forms of `E + A/N^alpha + B/(D^beta N^gamma)`, by any names of parameters.

    E, A and B are the names of the coefficients, alpha, beta and gamma those of the exponents;
    a law may have no floor and no joint exponent.
    """

    E: str | None = "E"
    A: str = "A"
    alpha: str = "alpha"
    B: str = "B"
    beta: str = "beta"
    gamma: str | None = None

    @classmethod
    def of(cls, terms: tuple[Term, ...]) -> "TwoTerms | None":
        """Of a floor, a term of N, and one of D that N may weaken; None of any other terms."""
        by_powers = {tuple(e.variable for e in term.exponents): term for term in terms}
        tokens = by_powers.get(("D",)) or by_powers.get(("D", "N"))
        floor, size = by_powers.get(()), by_powers.get(("N",))
        if tokens is None or size is None or len(terms) != 2 + (floor is not None):
            return None
        alpha, (beta, *joint) = size.exponents[0].name, (e.name for e in tokens.exponents)
        E, gamma = floor.coefficient if floor else None, joint[0] if joint else None
        return cls(E, size.coefficient, alpha, tokens.coefficient, beta, gamma)

    def interior(self, params: Values) -> np.ndarray:
        """Where a compute-optimal size exists: both exponents are above the joint one."""
        _, A, alpha, B, beta, gamma = self._read(params)
        apart = (beta > gamma) & (alpha > gamma) & (A > 0) & (B > 0)
        with np.errstate(all="ignore"):
            gain = np.log(alpha * A / ((beta - gamma) * B)) / (alpha + beta - gamma)
        return apart & (np.abs(gain) < _ENDLESS)

    def sizes(self, params: Values) -> dict[str, np.ndarray]:
        """`N = N_coef C^a`, `D = D_coef C^b`: where the slope along C = 6 N D is zero."""
        _, A, alpha, B, beta, gamma = self._read(params)
        total = alpha + beta - gamma
        gain = (alpha * A / ((beta - gamma) * B)) ** (1.0 / total)
        a, b = beta / total, (alpha - gamma) / total
        return {"N_coef": gain * 6.0**-a, "a": a, "D_coef": 6.0**-b / gain, "b": b}

    def tokens(self, params: Values, N: np.ndarray, loss: np.ndarray | float) -> np.ndarray:
        """Tokens after which a model of N parameters has that loss; infinite where never."""
        E, A, alpha, B, beta, gamma = self._read(params)
        left = np.maximum(loss - E - A * N**-alpha, 0.0)
        with np.errstate(divide="ignore"):
            return (left / (B * N**-gamma)) ** (-1.0 / beta)

    def smallest(self, params: Values, loss: float) -> float:
        """The parameters that have that loss after endless tokens; infinite where none do."""
        E, A, alpha, *_ = self._read(params)
        with np.errstate(divide="ignore"):
            return float((A / np.maximum(loss - E, 0.0)) ** (1.0 / alpha))

    def _read(self, params: Values) -> tuple[np.ndarray, ...]:
        """E, A, alpha, B, beta and gamma, zero where there is none."""
        names = (self.E, self.A, self.alpha, self.B, self.beta, self.gamma)
        return tuple(np.asarray(params[name] if name else 0.0) for name in names)
