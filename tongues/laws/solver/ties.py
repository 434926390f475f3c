"""Parameters held at a value or tied to each other: what is left to find."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real

import numpy as np

from tongues.errors import UserError, nearest
from tongues.laws.forms import Form, PowerForm

_NOTHING = -1e4  # the log of a coefficient fixed at zero: its term is exactly 0


@dataclass(frozen=True, slots=True)
class Ties:
    """fixed: value by name. tied: the leader whose value each named parameter has."""

    fixed: Mapping[str, float] = field(default_factory=dict)
    tied: Mapping[str, str] = field(default_factory=dict)

    def leader(self, name: str) -> str:
        """The parameter whose value `name` has."""
        return self.tied.get(name, name)

    def free(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of `names` that remain to be found."""
        return tuple(name for name in names if name not in self.fixed and name not in self.tied)

    def coordinates(
        self, form: Form, centre: Mapping[str, float]
    ) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
        """Free names, and the map from free to full coordinates: `spread @ free + shift`.

        Exponents of a sum of power terms are their own coordinate; any other parameter has its
        logarithm, of a coefficient centred: log A − Σ exponent · mean log of its variable, the
        term's log at the middle of the rows. One that is fixed, or equal to another, then moves
        with the exponents.

        centre: the mean log of each variable.
        """
        names, free = form.free, self.free(form.free)
        spread, shift = np.zeros((len(names), len(free))), np.zeros(len(names))
        terms = {term.coefficient: term.exponents for term in getattr(form, "fitted", ())}
        plain = form.exponents if isinstance(form, PowerForm) else ()
        for row, name in enumerate(names):
            leader = self.leader(name)
            if name in plain and leader in self.fixed:
                shift[row] = self.fixed[leader]
            elif name in plain:
                spread[row, free.index(leader)] = 1.0

        def centring(coefficient: str) -> tuple[np.ndarray, float]:
            rows = [(names.index(e.name), centre[e.variable]) for e in terms.get(coefficient, ())]
            moves = sum((spread[row] * middle for row, middle in rows), np.zeros(len(free)))
            return moves, sum(shift[row] * middle for row, middle in rows)

        for row, name in enumerate(names):
            if name in plain:
                continue
            leader = self.leader(name)
            moves, still = centring(name)
            if leader in self.fixed:
                value = self.fixed[leader]
                spread[row], shift[row] = -moves, (np.log(value) if value > 0 else _NOTHING) - still
            elif leader == name:
                spread[row, free.index(name)] = 1.0
            else:
                of_leader, constant = centring(leader)
                spread[row], shift[row] = of_leader - moves, constant - still
                spread[row, free.index(leader)] += 1.0
        return free, spread, shift


def read_ties(form: Form, fix: Mapping[str, float] | None, tie: Sequence[tuple[str, str]]) -> Ties:
    """Check what a user holds fixed or equal; a UserError names what cannot be."""
    for name, value in (fix or {}).items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise UserError(f"{name} must be fixed at a number, not {value!r}", where="fix")
    fixed = dict(form.given) | {name: float(value) for name, value in (fix or {}).items()}
    for name in (*fixed, *(name for pair in tie for name in pair)):
        if name in form.taken_names:
            raise UserError(f"{name} of the {form.name} law comes from its base", where=name)
        if name not in form.free:
            raise UserError(
                f"the {form.name} law has no parameter `{name}`",
                where="fix" if name in fixed else "tie",
                hint=nearest(name, form.free),
            )
    for name, value in fixed.items():
        low, high, inclusive = form.limits(name)
        inside = low <= value <= high if inclusive else low < value <= high
        if not (inside and np.isfinite(value)):
            ends = f"; exponents are between {low:g} and {high:g}" if np.isfinite(high) else ""
            raise UserError(f"{name} cannot be {value:g}{ends}", where="fix")
    tied: dict[str, str] = {}
    for first, second in tie:
        if (first in form.exponents) != (second in form.exponents) or first == second:
            raise UserError(f"{first} and {second} cannot be tied", where="tie")
        first = tied.get(first, first)
        if second in fixed or second in tied or second in tied.values() or first in fixed:
            hint = "name the parameter that leads first: alpha=beta alpha=gamma"
            raise UserError(f"{second} is tied or fixed already", where="tie", hint=hint)
        tied[second] = first
    ties = Ties(fixed, tied)
    if not ties.free(form.free):
        raise UserError("every parameter is fixed; there is nothing to fit", where="fix")
    return ties
