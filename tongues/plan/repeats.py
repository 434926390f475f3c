"""What text that is read again, and parameters beyond what text can fill, are still worth."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from tongues.laws import FORMS, Law
from tongues.laws.uncertainty import upright

__all__ = ["Repeats", "filled_by", "without_repeats"]

_SIZES = (math.log(1e-3), math.log(1e30))  # parameters among which the best size is looked for
_ROUNDS = 55  # halvings: from these bounds to beyond what rounding shows
_STEP = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """The one rule for every law: D' tokens and N' parameters that teach as much as D and N do.

    D' = U + U R_D (1 − exp(−(D/U − 1)/R_D)) beyond U, and N' likewise with R_N beyond the size
    that U tokens fill: the compute-optimal one by the law itself.

    unique: U, tokens of different target text there are.
    R_D, R_N: decay of the value of repeats, and of parameters in excess.
    draws: bootstrap draws of the two, where their law has some.
    fallback: the law whose optimum stands in where a law has none of its own.
    borrowed: the published law that the two numbers were taken from, if none in hand tells.
    """

    unique: float
    R_D: float
    R_N: float
    draws: Mapping[str, np.ndarray] = field(default_factory=dict)
    fallback: Law | None = None
    borrowed: str = ""

    def loss(self, law: Law, N: np.ndarray, D: np.ndarray, full: np.ndarray | float) -> np.ndarray:
        """The loss of N parameters on D tokens; `full` of them other text has filled already."""
        own = filled_by(law, self.unique)
        if math.isinf(own) and self.fallback:
            own = filled_by(self.fallback, self.unique)
        size = _worth(N, np.maximum(own, full), self.R_N)
        return law.loss(size, _worth(D, self.unique, self.R_D))

    def loss_draws(
        self, law: Law, N: np.ndarray, D: np.ndarray, full: np.ndarray | float
    ) -> np.ndarray:
        """The same for every draw of the law, along a new first axis."""
        N, D = np.broadcast_arrays(N, D)
        own = _filled_in_draws(law, self.unique)
        decays = {"R_D": self.R_D, "R_N": self.R_N} | dict(self.draws)
        decays = {name: np.resize(value, len(own)) for name, value in decays.items()}
        if self.fallback and np.isinf(own).any():
            own = np.where(np.isinf(own), filled_by(self.fallback, self.unique), own)
        of = upright({**law.draws, **decays, "own": own}, N.ndim)
        size = _worth(N, np.maximum(of["own"], full), of["R_N"])
        return law.equation.loss(of, {"N": size, "D": _worth(D, self.unique, of["R_D"])})


def without_repeats(law: Law) -> Law:
    """The law of unseen text inside a data-constrained one."""
    kept = law.equation.taken_names
    return replace(
        law,
        form=law.equation.base or law.form,
        params={name: law.params[name] for name in kept},
        draws={name: values for name, values in law.draws.items() if name in kept},
        interval={name: ends for name, ends in law.interval.items() if name in kept},
    )


@lru_cache(maxsize=256)
def filled_by(law: Law, tokens: float) -> float:
    """The compute-optimal size that goes with so many tokens; infinite where there is none."""
    return float(_balanced(law.form, {n: np.array(v) for n, v in law.params.items()}, tokens))


@lru_cache(maxsize=64)
def _filled_in_draws(law: Law, tokens: float) -> np.ndarray:
    return _balanced(law.form, law.draws, tokens)


def _balanced(form: str, params: Mapping[str, np.ndarray], tokens: float) -> np.ndarray:
    """The size at which neither more parameters nor more tokens help, their product held."""
    shape = np.shape(next(iter(params.values())))
    low, high = (np.full(shape, end) for end in _SIZES)

    def rises(x: np.ndarray) -> np.ndarray:
        larger, smaller = (
            FORMS.find(form).loss(params, {"N": np.exp(x + step), "D": tokens * np.exp(-step)})
            for step in (np.float64(_STEP), np.float64(-_STEP))
        )
        return larger > smaller

    outside = rises(low) | ~rises(high)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2.0
        past = rises(middle)
        low, high = np.where(past, low, middle), np.where(past, middle, high)
    return np.where(outside, np.inf, np.exp((low + high) / 2.0))


def _worth(amount: np.ndarray, whole: np.ndarray | float, decay: np.ndarray | float) -> np.ndarray:
    """What an amount beyond `whole` is still worth; `whole` may be infinite."""
    beyond = np.maximum(amount / whole - 1.0, 0.0)
    bounded = np.where(np.isinf(whole), 0.0, whole)
    return np.minimum(amount, whole) - bounded * decay * np.expm1(-beyond / decay)
