"""Parameters held at a value: by a user, or by their form."""

from collections.abc import Mapping
from numbers import Real

import numpy as np

from tongues.core.errors import UserError, nearest
from tongues.laws.forms import Form


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
