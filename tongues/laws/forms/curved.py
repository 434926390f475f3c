"""Forms that are not sums of power terms: any smooth function of positive parameters.

Functions are written so that complex numbers pass through them: slopes come from a complex step,
exact to rounding.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tongues.laws.forms.form import Form, Values

__all__ = ["CurvedForm", "Spans"]

Spans = dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurvedForm(Form):
    """A law as a function, and where to look for its parameters.

    fitted: the parameters a fit finds, all positive. needs: the variables.
    taken: parameters that come from a base law.
    curve: the loss in nats per token from parameters and variables; both broadcast.
    spans: lowest and highest value of each fitted parameter, from the rows.
    starts: values of the fitted parameters to start from, (starts, parameters), from the rows.
    """

    fitted: tuple[str, ...]
    needs: tuple[str, ...]
    curve: Callable[[Values, Values], np.ndarray]
    spans: Callable[[Mapping[str, np.ndarray], np.ndarray], Spans]
    starts: Callable[[Mapping[str, np.ndarray], np.ndarray], np.ndarray]
    taken: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every parameter, those of the base first."""
        return self.taken + self.fitted

    @property
    def free(self) -> tuple[str, ...]:
        """The parameters a fit may find."""
        return self.fitted

    @property
    def taken_names(self) -> tuple[str, ...]:
        """The parameters that come from the base."""
        return self.taken

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables the law depends on."""
        return self.needs

    @property
    def exponents(self) -> tuple[str, ...]:
        """All fitted parameters: any of them shapes the curve."""
        return self.fitted

    def limits(self, name: str) -> tuple[float, float, bool]:
        """Anything above zero."""
        return 0.0, np.inf, False

    def finds_size(self, free: Iterable[str]) -> bool:
        """Whether the base does not give the exponents."""
        return self.base is None

    def known(self, params: Values, variables: Values) -> np.ndarray:
        """Nothing that could be named apart from the rest."""
        return np.zeros(1)

    def loss(self, params: Values, variables: Values) -> np.ndarray:
        """The law itself, in nats per token; parameters and variables broadcast."""
        return self.curve(params, variables)
