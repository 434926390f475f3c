"""How to spend compute: the sizes and tokens that minimise a law under C = 6 N D."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tongues.core.errors import Caution, UserError
from tongues.laws.forms import Form
from tongues.laws.uncertainty import bootstrap_intervals, percentiles

_DOUBTED = 0.025  # share of the draws without a best size, from which a caution is given


def with_interval(value: float, ends: tuple[float, float] | None) -> str:
    """As in `0.519 [0.5, 0.543]`."""
    return f"{value:.3g}" + (f" [{ends[0]:.3g}, {ends[1]:.3g}]" if ends else "")


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
    def sentences(self) -> list[str]:
        """The size and the tokens as powers of compute, with the intervals of the exponents."""
        a, b = (with_interval(getattr(self, name), self.interval.get(name)) for name in "ab")
        return [
            f"size for C FLOPs: N = {self.N_coef:.3g} C^{a}",
            f"tokens for C FLOPs: D = {self.D_coef:.3g} C^{b}",
        ]

    def __repr__(self) -> str:
        """Both lines."""
        return "\n".join(f"best {line}" for line in self.sentences)

    def to_json(self) -> dict[str, Any]:
        """The four numbers and their intervals."""
        numbers = {name: getattr(self, name) for name in ("N_coef", "a", "D_coef", "b")}
        return numbers | {"interval": {name: list(ends) for name, ends in self.interval.items()}}


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


def about_allocation(
    form: Form, params: Mapping[str, float], draws: Mapping[str, np.ndarray]
) -> tuple[Caution, ...]:
    """Whether an optimum inside the plane exists at all, and in how many draws it does not."""
    split = form.split
    if split is None:
        return ()
    if not split.interior(params):
        what = f"no compute-optimal size exists: {split.why_not(params)}"
        return (Caution("no_interior_optimum", what),)
    outside = 1.0 - np.mean(split.interior(draws)) if draws else 0.0
    if outside <= _DOUBTED:
        return ()
    what = f"{outside:.0%} of the resamples have no compute-optimal size; "
    return (Caution("optimum_in_doubt", what + "the allocation's intervals leave them out"),)
