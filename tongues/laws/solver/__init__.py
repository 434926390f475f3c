"""Minimise the sum of Huber(log predicted − log measured) for any law."""

from collections.abc import Mapping

import numpy as np

from tongues.laws.forms import CurvedForm, Form, PowerForm
from tongues.laws.solver.descent import DELTA, FitProblem, Optimum, descend, solve
from tongues.laws.solver.fixed import read_fixed
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
