"""Minimise the sum of Huber(log predicted − log measured) for any law."""

from collections.abc import Mapping

import numpy as np

from tongues.laws.forms import CurvedForm, Form, PowerForm
from tongues.laws.solver.descent import FitProblem, Optimum, descend, objective, solve
from tongues.laws.solver.power_terms import pose_terms
from tongues.laws.solver.smooth import pose_smooth
from tongues.laws.solver.ties import Ties, read_ties

__all__ = ["FitProblem", "Optimum", "Ties", "descend", "objective", "pose", "read_ties", "solve"]


def pose(
    form: Form,
    variables: Mapping[str, np.ndarray],
    loss: np.ndarray,
    delta: float,
    ties: Ties | None = None,
) -> FitProblem:
    """Arrange rows (variables and loss in nats per token) for the solver."""
    ties = ties or Ties()
    if isinstance(form, PowerForm):
        return pose_terms(form, variables, loss, delta, ties)
    assert isinstance(form, CurvedForm)
    return pose_smooth(form, variables, loss, delta, ties)
