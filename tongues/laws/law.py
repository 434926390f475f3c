"""A fitted law: its parameters, how sure they are, and what it was fitted on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import Caution, UserError
from tongues.estimate import Estimate
from tongues.laws import describe
from tongues.laws.allocation import allocate
from tongues.laws.forms import FORMS, Form, check_names
from tongues.laws.uncertainty import percentiles, upright
from tongues.roles import Roles

__all__ = ["HoldOut", "Law", "Leverage"]

_NUMBERS = ("objective", "mean_huber", "gradient_norm", "delta")
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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
    roles: base languages and targets of these runs, where it was fitted on runs.
    """

    form: str
    params: dict[str, float]
    draws: dict[str, np.ndarray] = field(default_factory=dict)
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
    roles: Roles | None = None

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
    def parameters(self) -> dict[str, Estimate]:
        """Each parameter with its interval; `reason` says why one has none."""
        return describe.parameters(self)

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

    def __repr__(self) -> str:
        """A few lines: the formula with its numbers, their intervals, and how far to trust them."""
        return describe.short(self)

    def summary(self) -> str:
        """What `tongues fit` prints: parameters, best sizes, the held-out test and cautions."""
        return describe.summary(self)

    def to_frame(self) -> Any:
        """A row a parameter, as a data frame of pandas or polars."""
        return describe.frame(self)

    def plot(self) -> Any:
        """The loss over the amount trained with, as an altair chart; dashed beyond the runs."""
        return describe.chart(self)

    def _repr_html_(self) -> str:
        return describe.html(self)

    def to_json(self, *, draws: bool = True) -> dict[str, Any]:
        """Everything, at full precision, as plain JSON values; the allocation comes along.

        draws: whether the bootstrap draws do too.
        """
        best = allocate(self)
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        whole = {
            "law": self.form,
            "strategy": self.strategy,
            "target": self.target,
            "roles": self.roles.to_json() if self.roles else None,
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
        }
        if draws:
            whole["draws"] = {name: values.tolist() for name, values in self.draws.items()}
        return _finite(whole)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The law that `to_json` wrote; a UserError says what of it is not as it was written."""
        if not isinstance(data, Mapping) or not isinstance(data.get("law"), str):
            raise UserError("holds no law", hint="write one by `tongues fit TABLE -o law.json`")
        form = FORMS.find(data["law"])
        try:
            holdout = data.get("holdout")
            return cls(
                form=form.name,
                params={name: _number(name, value) for name, value in data["params"].items()},
                draws=_draws(form.names, data.get("draws", {})),
                interval={name: _ends(name, ends) for name, ends in data["interval"].items()},
                **{name: _or_nan(name, data[name]) for name in _NUMBERS},
                n_rows=int(data["n_rows"]),
                n_runs=int(data["n_runs"]),
                range={n: _ends(n, ends, positive=True) for n, ends in data["range"].items()},
                warnings=tuple(Caution(**caution) for caution in data["warnings"]),
                fixed={name: _number(name, value) for name, value in data["fixed"].items()},
                tied=dict(data["tied"]),
                leverage=tuple(Leverage(**one) for one in data["leverage"]),
                holdout=HoldOut(**holdout) if holdout else None,
                source=_text("source", data["source"]),
                strategy=_text("strategy", data["strategy"]),
                target=_text("target", data["target"]),
                roles=Roles.from_json(data["roles"]) if data.get("roles") else None,
            )
        except UserError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"its {form.name} law is not whole ({type(error).__name__}: {error})"
            raise UserError(what, hint="write it anew by `tongues fit`") from None


def _fields(thing: Caution | HoldOut | Leverage) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in thing.__slots__}


def _finite(value: Any) -> Any:
    """The same with None for numbers that JSON does not know."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UserError(f"`{name}` is no number: {value!r}", hint="write it anew by `tongues fit`")
    return float(value)


def _or_nan(name: str, value: Any) -> float:
    return math.nan if value is None else _number(name, value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UserError(f"`{name}` is no text: {value!r}", hint="write it anew by `tongues fit`")
    return value


def _ends(name: str, ends: Sequence[Any], *, positive: bool = False) -> tuple[float, float]:
    low, high = (_or_nan(name, end) for end in ends)
    if low > high or (positive and not (low >= 0 and high > 0)):
        raise UserError(f"`{name}` goes from {low:g} to {high:g}", hint="mend it, or fit anew")
    return low, high


def _draws(names: Sequence[str], draws: Mapping[str, Sequence[Any]]) -> dict[str, np.ndarray]:
    """Columns of one length, of exactly the form's names; None was a draw that is no number."""
    columns = {
        name: np.array([_or_nan(name, value) for value in values]) for name, values in draws.items()
    }
    if columns and set(columns) != set(names):
        raise UserError(f"the draws are of {' '.join(columns)}, the law is of {' '.join(names)}")
    if len({len(values) for values in columns.values()}) > 1:
        raise UserError("the draws of its parameters differ in number", hint="fit anew")
    return columns
