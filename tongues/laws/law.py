"""A fitted law: its parameters, how sure they are, and what it was fitted on."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import Caution, UserError
from tongues.laws.allocation import allocate
from tongues.laws.forms import FORMS, Form, check_names
from tongues.laws.lawfile import NUMBERS, finite, law_from_json
from tongues.laws.uncertainty import percentiles, upright

__all__ = ["HoldOut", "Law", "Leverage"]

_LOOSE = {"at_bound", "zero_E", "ill_conditioned", "not_converged", "no_interior_optimum"}
_LOOSE |= {"loose_base", "sizes_and_tokens_together", "few_sizes", "no_intervals"}


@dataclass(frozen=True, slots=True)
class HoldOut:
    """Fitted without the largest, what it predicts for them.

    variable: what "largest" means, N or C; `above`: the largest value that was fitted.
    params: of the law fitted without them. base_saw: whether its base may have seen them.
    bias, error: mean of predicted / measured − 1, and of its absolute value.
    error_within: mean absolute value of the same on the rows it was fitted on.
    """

    variable: str
    above: float
    params: dict[str, float]
    base_saw: bool
    n_rows: int
    n_runs: int
    bias: float
    error: float
    error_within: float


@dataclass(frozen=True, slots=True)
class Leverage:
    """What leaving one run out does.

    shift: change of each parameter. score: the largest of these in standard deviations of its
    draws. N_opt: factor on the compute-optimal size at the largest compute of the rows.
    """

    run: str
    score: float
    shift: dict[str, float]
    N_opt: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """Loss in nats per token as a function of the form's variables.

    A law taken from print has only a form and `params`; the figures of a fit are then NaN and the
    draws empty.

    form: a name from `FORMS`.
    params: by name.
    draws: bootstrap draws of each parameter, all of one length.
    interval: the 95 % percentile interval of each parameter that was fitted.
    objective: the sum over rows of Huber_delta(log predicted − log measured).
    mean_huber: the same, per row.
    gradient_norm: the objective's largest slope at the optimum, in centred logs.
    n_rows, n_runs: what the fit saw.
    delta: the Huber threshold, in log loss.
    range: lowest and highest value of each variable and the loss; outside it the law extrapolates.
    warnings: why to doubt it.
    fixed, tied: parameters held at a value, or at that of another.
    leverage: the runs the law hangs on most, the worst first.
    holdout: how well the small ones predict the largest.
    source: where a printed law comes from. strategy, target: which runs it is the law of.
    """

    form: str
    params: dict[str, float]
    draws: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    interval: dict[str, tuple[float, float]] = field(default_factory=dict)
    objective: float = math.nan
    mean_huber: float = math.nan
    gradient_norm: float = math.nan
    n_rows: int = 0
    n_runs: int = 0
    delta: float = math.nan
    range: dict[str, tuple[float, float]] = field(default_factory=dict)
    warnings: tuple[Caution, ...] = ()
    fixed: dict[str, float] = field(default_factory=dict)
    tied: dict[str, str] = field(default_factory=dict)
    leverage: tuple[Leverage, ...] = ()
    holdout: HoldOut | None = None
    source: str = ""
    strategy: str = ""
    target: str = ""

    def __post_init__(self) -> None:
        """Refuse a form or parameters that do not belong together."""
        names = self.equation.names
        if set(self.params) != set(names):
            raise UserError(
                f"the {self.form} law has the parameters {' '.join(names)}", where="params"
            )

    @property
    def equation(self) -> Form:
        """Its form: the equation, and what can be done with it."""
        return FORMS.find(self.form)

    @property
    def loose(self) -> tuple[Caution, ...]:
        """Why the runs do not pin it down, so that it promises nothing beyond them."""
        return tuple(caution for caution in self.warnings if caution.code in _LOOSE)

    def loss(
        self, N: ArrayLike | None = None, D: ArrayLike | None = None, **others: ArrayLike
    ) -> np.ndarray:
        """The predicted loss, nats per token; variables are the form's, as in `loss(N, D)`."""
        form, variables = self._variables(N, D, others)
        return np.asarray(form.loss(self.params, variables))

    def loss_draws(
        self, N: ArrayLike | None = None, D: ArrayLike | None = None, **others: ArrayLike
    ) -> np.ndarray:
        """The predicted loss of every draw, along a new first axis."""
        form, variables = self._variables(N, D, others)
        shape = np.broadcast_shapes(*(np.shape(value) for value in variables.values()))
        return np.asarray(form.loss(upright(self.draws, len(shape)), variables))

    def loss_interval(
        self, N: ArrayLike | None = None, D: ArrayLike | None = None, **others: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """The 95 % interval of the predicted loss; it leaves out the noise of a single run."""
        return percentiles(self.loss_draws(N, D, **others))

    def _variables(
        self, N: ArrayLike | None, D: ArrayLike | None, others: Mapping[str, ArrayLike]
    ) -> tuple[Form, dict[str, np.ndarray]]:
        form = self.equation
        check_names(others)
        given = {"N": N, "D": D} | dict(others)
        missing = [name for name in form.variables if given.get(name) is None]
        if missing:
            raise UserError(f"the {self.form} law needs {' and '.join(missing)}", where="loss")
        return form, {name: np.asarray(given[name], dtype=float) for name in form.variables}

    def to_json(self) -> dict[str, Any]:
        """Everything, at full precision, as plain JSON values; the allocation comes along."""
        best = allocate(self)
        numbers = {name: getattr(self, name) for name in NUMBERS}
        whole = {
            "law": self.form,
            "strategy": self.strategy,
            "target": self.target,
            "source": self.source,
            "n_rows": self.n_rows,
            "n_runs": self.n_runs,
            "params": dict(self.params),
            **numbers,
            "interval": {name: list(ends) for name, ends in self.interval.items()},
            "allocation": best.to_json() if best else None,
            "pinned_down": not self.loose,
            "holdout": _fields(self.holdout) if self.holdout else None,
            "leverage": [_fields(one) for one in self.leverage],
            "warnings": [_fields(caution) for caution in self.warnings],
            "range": {name: list(ends) for name, ends in self.range.items()},
            "fixed": dict(self.fixed),
            "tied": dict(self.tied),
            "draws": {name: values.tolist() for name, values in self.draws.items()},
        }
        return finite(whole)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The law that `to_json` wrote; a UserError says what of it is not as it was written."""
        return law_from_json(cls, data)


def _fields(thing: Caution | HoldOut | Leverage) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in thing.__slots__}
