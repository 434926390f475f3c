"""A fitted law: its parameters, how sure they are, and what it was fitted on."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import AfterValidator, BaseModel, BeforeValidator, FiniteFloat, ValidationError

from tongues.errors import Caution, UserError
from tongues.estimate import Estimate
from tongues.frames import text_table, to_frame
from tongues.laws import describe
from tongues.laws.allocation import allocate
from tongues.laws.forms import FORMS, Form, check_names
from tongues.laws.predict import Prediction, Predictor, predictor_of
from tongues.laws.rows import Rows
from tongues.laws.uncertainty import percentiles, upright
from tongues.roles import Roles

_NUMBERS = ("objective", "mean_huber", "gradient_norm", "delta")
_LOOSE = {"at_bound", "zero_E", "ill_conditioned", "not_converged", "no_interior_optimum"}
_LOOSE |= {"loose_base", "sizes_and_tokens_together", "few_sizes", "no_intervals"}
_LOOSE |= {"mixed_experiments"}


@dataclass(frozen=True, slots=True)
class HoldOut:
    """Fitted without the runs of most compute, what it predicts for them.

    above: the most FLOPs that were fitted.
    params: of the law fitted without them. base_saw: whether its base may have seen them.
    bias, error: mean of predicted / measured − 1, and of its absolute value.
    error_within: mean absolute value of the same on the rows it was fitted on.
    """

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
    warnings: cautions about it.
    fixed, tied: parameters held at a value, or at that of another.
    leverage: the runs the law hangs on most, the worst first.
    holdout: how well the small ones predict the largest.
    source: where a printed law comes from. strategy, target: which runs it is the law of.
    roles: base languages and targets of these runs, where it was fitted on runs.
    rows: what it was fitted on, for predictions; None for a law taken from print.
    stack: the weights of the forms that predict together, its own among them or not, where several
        were weighed; empty where this one alone does.
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
    rows: Rows | None = None
    stack: dict[str, float] = field(default_factory=dict)

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
        """Each parameter with its interval; `reason` is why one has none."""
        notes = dict.fromkeys(self.equation.taken_names, "of the base")
        notes |= dict.fromkeys(self.fixed, "fixed")
        notes |= {name: f"tied to {leader}" for name, leader in self.tied.items()}
        estimates = {}
        for name, value in self.params.items():
            low, high = self.interval.get(name, (None, None))
            method, reason = "" if low is None else "bootstrap over runs", notes.get(name, "")
            n = self.n_runs or None
            estimates[name] = Estimate(value, low, high, n=n, method=method, reason=reason)
        return estimates

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
        """The 95 % interval of the law's curve, its form taken as true; `predict` is about runs."""
        return percentiles(self.loss_draws(N, D, **others))

    def predictor(self, draws: int = 1000, seed: int = 0) -> Predictor:
        """Draws of whole laws with their errors, to be asked anywhere: `predictor(N=…, D=…)`.

        The error of the law's form is a drift that grows with the distance from its runs in
        compute and in tokens per parameter; its size, and the scatter of single runs, are learned
        from the law's own rows. A law without rows has what is usual of both.
        """
        return predictor_of(self, draws, seed)

    def predict(
        self, N: ArrayLike | None = None, D: ArrayLike | None = None, **others: ArrayLike
    ) -> Prediction:
        """What one run there would end at, with its 95 % predictive interval and draws."""
        return self.predictor()(N, D, **others)

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
        return describe.in_short(self)

    def summary(self) -> str:
        """What `tongues fit` prints: parameters, best sizes, the held-out test and cautions."""
        table = text_table(describe.parameter_rows(self))
        doubts = (f"caution: {caution}" for caution in self.warnings)
        lines = [describe.law_title(self), table, *describe.what_follows(self), *doubts]
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """A row a parameter, as a data frame of pandas or polars."""
        columns = ("parameter", "value", "low", "high", "note")
        cells = ((n, p.value, p.low, p.high, p.reason) for n, p in self.parameters.items())
        return to_frame([dict(zip(columns, row, strict=True)) for row in cells])

    def plot(self) -> Any:
        """The loss over the amount trained with, as an altair chart; dashed beyond the runs."""
        return describe.draw_law(self)

    def _repr_html_(self) -> str:
        return describe.html(self)

    def to_json(self, *, draws: bool = True) -> dict[str, Any]:
        """Everything, at full precision, as plain JSON values; the allocation comes along.

        draws: whether the bootstrap draws do too.
        """
        best = allocate(self)
        plain = {
            "law": self.form,
            "strategy": self.strategy,
            "target": self.target,
            "roles": self.roles.to_json() if self.roles else None,
            "source": self.source,
            "n_rows": self.n_rows,
            "n_runs": self.n_runs,
            "params": self.params,
            **{name: getattr(self, name) for name in _NUMBERS},
            "interval": self.interval,
            "allocation": best.to_json() if best else None,
            "pinned_down": not self.loose,
            "holdout": asdict(self.holdout) if self.holdout else None,
            "leverage": [asdict(one) for one in self.leverage],
            "warnings": [asdict(caution) for caution in self.warnings],
            "range": self.range,
            "rows": self.rows.to_json() if self.rows else None,
            "stack": self.stack,
            "fixed": self.fixed,
            "tied": self.tied,
        }
        return _plain(plain | ({"draws": self.draws} if draws else {}))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The law that `to_json` wrote; a UserError names what of it is not as it was written."""
        if not isinstance(data, Mapping) or not isinstance(data.get("law"), str):
            raise UserError("holds no law", hint="write one by `tongues fit TABLE -o law.json`")
        form = FORMS.find(data["law"])
        try:
            stored = _Stored.model_validate(data)
            roles = Roles.from_json(stored.roles) if stored.roles else None
            rows = Rows.from_json(stored.rows) if stored.rows else None
        except (ValidationError, KeyError, TypeError, ValueError, AttributeError) as error:
            first = error.errors()[0] if isinstance(error, ValidationError) else {}
            where = ".".join(map(str, first.get("loc", ())))
            what = f"its {form.name} law is not whole ({where}: {first.get('msg', error)})"
            raise UserError(what, hint="write it again by `tongues fit`") from None
        draws = {name: np.array(values, dtype=float) for name, values in stored.draws.items()}
        if draws and (set(draws) != set(form.names) or len(set(map(len, draws.values()))) > 1):
            what = f"the draws of its {form.name} law are not of its parameters, or of one number"
            raise UserError(what, hint="write it again by `tongues fit`")
        values = {name: getattr(stored, name) for name in _Stored.model_fields if name != "law"}
        return cls(form.name, **values | {"draws": draws, "roles": roles, "rows": rows})


def _plain(value: Any) -> Any:
    """As JSON has it, with None for numbers that it does not know."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(one) for one in (value.tolist() if isinstance(value, np.ndarray) else value)]
    return value


def _ends(least: float) -> AfterValidator:
    def check(ends: tuple[float, float]) -> tuple[float, float]:
        if ends[0] > ends[1] or ends[0] < least or (least == 0 and ends[1] <= 0):
            raise ValueError(f"goes from {ends[0]:g} to {ends[1]:g}")
        return ends

    return AfterValidator(check)


_Number = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]
_Ends = tuple[_Number, _Number]


class _Stored(BaseModel):
    """A law as its file has it."""

    law: str
    params: dict[str, FiniteFloat]
    draws: dict[str, list[float | None]] = {}
    interval: dict[str, Annotated[_Ends, _ends(-math.inf)]]
    objective: _Number
    mean_huber: _Number
    gradient_norm: _Number
    delta: _Number
    n_rows: int
    n_runs: int
    range: dict[str, Annotated[_Ends, _ends(0.0)]]
    warnings: tuple[Caution, ...]
    fixed: dict[str, float]
    tied: dict[str, str]
    leverage: tuple[Leverage, ...]
    holdout: HoldOut | None = None
    source: str
    strategy: str
    target: str
    roles: dict[str, Any] | None = None
    rows: dict[str, Any] | None = None
    stack: dict[str, float] = {}
