"""Forms that are not sums of power terms: any smooth function of positive parameters.

Functions are written so that complex numbers pass through them: slopes come from a complex step,
exact to rounding.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tongues.laws.forms.form import Form, Values

__all__ = ["CurvedForm", "Spans"]

Spans = dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurvedForm(Form):
    """A law as a function, and where to look for its parameters, all positive.

    curve: the loss in nats per token from parameters and variables; both broadcast.
    spans: lowest and highest value of each free parameter, from the rows.
    starts: values of the free parameters to start from, (starts, parameters), from the rows.
    """

    curve: Callable[[Values, Values], np.ndarray]
    spans: Callable[[Mapping[str, np.ndarray], np.ndarray], Spans]
    starts: Callable[[Mapping[str, np.ndarray], np.ndarray], np.ndarray]

    def loss(self, params: Values, variables: Values) -> np.ndarray:
        """The law itself, in nats per token; parameters and variables broadcast."""
        return self.curve(params, variables)
