"""Minimise the sum of Huber(log predicted − log measured) for any law."""

from collections.abc import Mapping
from numbers import Real

import numpy as np

from tongues.core.errors import UserError, nearest
from tongues.laws.forms import CurvedForm, Form, PowerForm
from tongues.laws.solver.descent import DELTA, FitProblem, Optimum, descend, solve
from tongues.laws.solver.power_terms import pose_terms
from tongues.laws.solver.smooth import pose_smooth

__all__ = ["FitProblem", "Optimum", "descend", "pose", "read_fixed", "solve"]


def pose(
    form: Form,
    variables: Mapping[str, np.ndarray],
    loss: np.ndarray,
    fixed: Mapping[str, float] | None = None,
    delta: float = DELTA,
) -> FitProblem:
    """Arrange rows (variables and loss in nats per token) for the solver.

    fixed: parameters held at a value. delta: the Huber threshold, in log loss.
    """
    if isinstance(form, PowerForm):
        return pose_terms(form, variables, loss, fixed or {}, delta)
    assert isinstance(form, CurvedForm)
    return pose_smooth(form, variables, loss, fixed or {}, delta)


def read_fixed(form: Form, fix: Mapping[str, float]) -> dict[str, float]:
    """The value of each parameter that is held; a UserError names what cannot be."""
    for name, value in fix.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise UserError(f"{name} must be fixed at a number, not {value!r}", where="fix")
        if name in form.taken_names:
            raise UserError(f"{name} of the {form.name} law comes from its base", where=name)
        if name not in form.free:
            what = f"the {form.name} law has no parameter `{name}`"
            raise UserError(what, where="fix", hint=nearest(name, form.free))
        low, high, inclusive = form.limits(name)
        inside = low <= value <= high if inclusive else low < value <= high
        if not (inside and np.isfinite(value)):
            ends = f"; exponents are between {low:g} and {high:g}" if np.isfinite(high) else ""
            raise UserError(f"{name} cannot be {value:g}{ends}", where="fix")
    fixed = dict(form.given) | {name: float(value) for name, value in fix.items()}
    if set(form.free) <= fixed.keys():
        raise UserError("every parameter is fixed; there is nothing to fit", where="fix")
    return fixed
