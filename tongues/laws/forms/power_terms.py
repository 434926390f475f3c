"""Forms that are sums of power terms: a coefficient over powers of the variables.

The logarithm of each term is linear in the parameters, which makes a fit fast and exact. With one
term of size and one of tokens, optimal sizes and inverses have closed forms.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tongues.laws.forms.form import Exponent, Form, Term, Values

_ENDLESS = 600.0  # a log coefficient beyond which no number holds it
_HALVINGS = 80  # of an interval of log sizes: to beyond what rounding shows
_LARGEST = 300.0  # natural log of the largest size that is looked at


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PowerForm(Form):
    """A sum of `fitted` terms, and of `taken` terms whose parameters come from the base.

    One with a term of N alone and a term of D, and at most a floor, splits compute and is
    inverted without further code.
    """

    fitted: tuple[Term, ...]
    taken: tuple[Term, ...] = ()

    def __post_init__(self) -> None:
        """Read names and variables off the terms, and the split and the inverse they allow."""
        terms = self.taken + self.fitted
        free, closed = _names(self.fitted), TwoTerms.of(terms)
        values = {
            "free": free,
            "terms": terms,
            "taken_names": tuple(name for name in _names(self.taken) if name not in free),
            "variables": tuple(dict.fromkeys(e.variable for t in terms for e in t.exponents)),
            "split": self.split or closed,
            "inverse": self.inverse or closed,
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


@dataclass(frozen=True, slots=True)
class TwoTerms:
    """Split and inverse of `E + A/N^alpha + B/(D^beta N^gamma)`, by any names of parameters.

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
        """Where both exponents are above the joint one."""
        _, A, alpha, B, beta, gamma = self._read(params)
        apart = (beta > gamma) & (alpha > gamma) & (A > 0) & (B > 0)
        with np.errstate(all="ignore"):
            gain = np.log(alpha * A / ((beta - gamma) * B)) / (alpha + beta - gamma)
        return apart & (np.abs(gain) < _ENDLESS)

    def why_not(self, params: Mapping[str, float]) -> str:
        """Which exponent is too small, or which term is missing."""
        are = ", ".join(f"{name} {params[name]:.3g}" for name in params if name != self.E)
        return (
            f"{self.beta} and {self.alpha} must both exceed {self.gamma or 'gamma'}, and {self.A} "
            f"and {self.B} be more than nothing, but here they are {are}"
        )

    def sizes(self, params: Values) -> dict[str, np.ndarray]:
        """Where the slope along C = 6 N D is zero."""
        _, A, alpha, B, beta, gamma = self._read(params)
        total = alpha + beta - gamma
        gain = (alpha * A / ((beta - gamma) * B)) ** (1.0 / total)
        a, b = beta / total, (alpha - gamma) / total
        return {"N_coef": gain * 6.0**-a, "a": a, "D_coef": 6.0**-b / gain, "b": b}

    def frontier(self, params: Values) -> dict[str, np.ndarray]:
        """Both terms fall as the same power of C along the best sizes, so it is exact."""
        E, A, alpha, B, beta, gamma = self._read(params)
        best = self.sizes(params)
        N = np.asarray(best["N_coef"])
        level = A * N**-alpha + B * (6.0 * N) ** beta * N**-gamma
        return {"E": E, "A": level, "gamma": alpha * np.asarray(best["a"])}

    def tokens(self, params: Values, N: np.ndarray, loss: np.ndarray) -> np.ndarray:
        """In closed form."""
        E, A, alpha, B, beta, gamma = self._read(params)
        left = np.maximum(loss - E - A * N**-alpha, 0.0)
        with np.errstate(divide="ignore"):
            return (left / (B * N**-gamma)) ** (-1.0 / beta)

    def parameters(self, params: Values, D: np.ndarray, loss: np.ndarray) -> np.ndarray:
        """In closed form without a joint exponent or token term, else by halving log sizes."""
        E, A, alpha, B, beta, gamma = self._read(params)
        above = np.maximum(loss - E, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(np.isinf(D), 0.0, B * np.asarray(D, float) ** -beta)
            if not np.any(gamma * scale):
                return (A / np.maximum(above - scale, 0.0)) ** (1.0 / alpha)
            low = np.zeros(np.broadcast(above, scale, A, gamma).shape)
            high = np.full(low.shape, _LARGEST)
            # of a joint exponent below zero the loss rises again: only its falling part counts
            turn = np.log(alpha * A / (-gamma * scale)) / (alpha - gamma)
            high = np.where(gamma < 0, np.minimum(high, turn), high)
        never = A * np.exp(-alpha * high) + scale * np.exp(-gamma * high) > above
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            reached = A * np.exp(-alpha * middle) + scale * np.exp(-gamma * middle) <= above
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return np.where(never, np.inf, np.exp(high))

    def _read(self, params: Values) -> tuple[np.ndarray, ...]:
        """E, A, alpha, B, beta and gamma, zero where there is none."""
        names = (self.E, self.A, self.alpha, self.B, self.beta, self.gamma)
        return tuple(np.asarray(params[name] if name else 0.0) for name in names)
