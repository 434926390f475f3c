"""How to spend compute: the sizes and tokens that minimise a law under C = 6 N D."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tongues.core.errors import UserError
from tongues.laws.forms import Form
from tongues.laws.uncertainty import bootstrap_intervals, percentiles
from tongues.laws.words import law_line, with_interval


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Allocation:
    """The compute-optimal split: `N = N_coef C^a` parameters, `D = D_coef C^b` tokens.

    `interval` has the 95 % interval of the four numbers. The coefficients belong to C = 1 FLOP, far
    from any run, so ask `sizes_interval` for the uncertainty at the compute you have.
    """

    N_coef: float
    a: float
    D_coef: float
    b: float
    interval: dict[str, tuple[float, float]]
    draws: dict[str, np.ndarray]

    def sizes(self, compute: float) -> tuple[float, float]:
        """Parameters and tokens that spend `compute` FLOPs best."""
        return self.N_coef * compute**self.a, self.D_coef * compute**self.b

    def sizes_interval(self, compute: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """The 95 % intervals of both at `compute` FLOPs; the law must have draws."""
        if not self.draws:
            what = "this law has no draws, so no intervals"
            raise UserError(what, where="law", code="no_intervals")
        sizes = self.draws["N_coef"] * compute ** self.draws["a"]
        (low, high), (least, most) = percentiles(sizes), percentiles(compute / (6.0 * sizes))
        return (float(low), float(high)), (float(least), float(most))

    @property
    def numbers(self) -> dict[str, float]:
        """All four by name."""
        return {"N_coef": self.N_coef, "a": self.a, "D_coef": self.D_coef, "b": self.b}

    @property
    def sentences(self) -> list[str]:
        """The size and the tokens as powers of compute, with the intervals of the exponents."""
        powers = {n: with_interval(self.numbers[n], self.interval.get(n)) for n in "ab"}
        return [law_line(kind, **self.numbers | powers) for kind in ("best size", "best tokens")]

    def __repr__(self) -> str:
        """Both lines."""
        return "\n".join(self.sentences)

    def to_json(self) -> dict[str, Any]:
        """The four numbers and their intervals."""
        return self.numbers | {"interval": {n: list(ends) for n, ends in self.interval.items()}}


def allocation_of(
    form: Form, params: Mapping[str, float], draws: Mapping[str, np.ndarray]
) -> Allocation | None:
    """The compute-optimal allocation of a law of these parameters, or None where it has none."""
    split = form.split
    if split is None or not split.interior(params):
        return None
    point = {name: float(value) for name, value in split.sizes(params).items()}
    best: dict[str, np.ndarray] = {}
    if draws:
        inside = split.interior(draws)
        best = split.sizes({name: values[inside] for name, values in draws.items()})
    return Allocation(**point, interval=bootstrap_intervals(best, point), draws=best)
