"""Laws that are not sums of power terms: any smooth function of positive parameters.

Each gives the loss itself and where to look for its parameters. Functions are written so that
complex numbers pass through them: slopes come from a complex step, exact to rounding.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from tongues.laws.values import Values

__all__ = ["DATA_CONSTRAINED", "KAPLAN", "Curved", "Spans"]

Spans = dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Curved:
    """A law's shape as a function.

    free: the parameters a fit finds, all positive.
    taken: those that come from a base law.
    curve: the loss in nats per token from parameters and variables; both broadcast.
    spans: lowest and highest value of each free parameter, from the rows.
    starts: values of the free parameters to start from, (starts, parameters), from the rows.
    """

    name: str
    formula: str
    free: tuple[str, ...]
    variables: tuple[str, ...]
    curve: Callable[[Values, Values], np.ndarray]
    spans: Callable[[Mapping[str, np.ndarray], np.ndarray], Spans]
    starts: Callable[[Mapping[str, np.ndarray], np.ndarray], np.ndarray]
    taken: tuple[str, ...] = ()
    base: str | None = None
    given: Mapping[str, float] = field(default_factory=dict)
    envelope: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Every parameter, those of the base first."""
        return self.taken + self.free

    @property
    def taken_names(self) -> tuple[str, ...]:
        """The parameters that come from the base."""
        return self.taken

    @property
    def exponents(self) -> dict[str, None]:
        """The fitted parameters whose interval a reader looks at."""
        return dict.fromkeys(self.free)

    def loss(self, params: Values, variables: Values) -> np.ndarray:
        """The law itself, in nats per token; parameters and variables broadcast."""
        return self.curve(params, variables)


def _kaplan(p: Values, v: Values) -> np.ndarray:
    of_size = (p["N_c"] / v["N"]) ** (p["alpha_N"] / p["alpha_D"])
    return (of_size + p["D_c"] / v["D"]) ** p["alpha_D"]


def _kaplan_spans(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> Spans:
    exponent = (0.005, 3.0)
    far = 1e60
    return {
        "N_c": (variables["N"].min() / far, variables["N"].max() * far),
        "D_c": (variables["D"].min() / far, variables["D"].max() * far),
        "alpha_N": exponent,
        "alpha_D": exponent,
    }


def _kaplan_starts(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> np.ndarray:
    """Sizes and tokens alone would give, at the middle of the rows, some share of the log loss."""
    middle = {name: np.exp(np.log(values).mean()) for name, values in variables.items()}
    level = np.log(loss).mean()
    exponents = np.geomspace(0.02, 1.0, 7)
    shares = level - np.array([0.02, 0.2, 0.5, 1.0, 2.0])
    return np.array(
        [
            (middle["N"] * np.exp(u / of_N), middle["D"] * np.exp(w / of_D), of_N, of_D)
            for of_N, of_D, u, w in product(exponents, exponents, shares, shares)
        ]
    )


KAPLAN = Curved(
    "kaplan",
    "[(N_c/N)^(alpha_N/alpha_D) + D_c/D]^alpha_D",
    free=("N_c", "D_c", "alpha_N", "alpha_D"),
    variables=("N", "D"),
    curve=_kaplan,
    spans=_kaplan_spans,
    starts=_kaplan_starts,
)


def _worth(unique: np.ndarray, repeats: np.ndarray, half: np.ndarray | float) -> np.ndarray:
    """What a quantity is worth when used `repeats` times more than there is of it."""
    return unique + unique * half * (1.0 - np.exp(-repeats / half))


def _data_constrained(p: Values, v: Values) -> np.ndarray:
    N, D = np.asarray(v["N"]), np.asarray(v["D"])
    unique = np.minimum(D, v["U"])
    G = (p["alpha"] * p["A"] / (p["beta"] * p["B"])) ** (1.0 / (p["alpha"] + p["beta"]))
    size = np.minimum(N, G * (G * unique) ** (p["beta"] / p["alpha"]))
    tokens = _worth(unique, D / unique - 1.0, p["R_D"])
    parameters = _worth(size, N / size - 1.0, p["R_N"])
    return p["E"] + p["A"] / parameters ** p["alpha"] + p["B"] / tokens ** p["beta"]


def _repeats_spans(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> Spans:
    return {"R_D": (0.01, 1e4), "R_N": (0.01, 1e4)}


def _repeats_starts(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> np.ndarray:
    grid = np.geomspace(0.1, 1000.0, 13)
    return np.array(list(product(grid, grid)))


DATA_CONSTRAINED = Curved(
    "data-constrained",
    "E + A/N'^alpha + B/D'^beta, D' = u + u R_D (1 − exp(−(D/u − 1)/R_D)), u = min(D, U)",
    free=("R_D", "R_N"),
    variables=("N", "D", "U"),
    curve=_data_constrained,
    spans=_repeats_spans,
    starts=_repeats_starts,
    taken=("E", "A", "B", "alpha", "beta"),
    base="chinchilla",
)
