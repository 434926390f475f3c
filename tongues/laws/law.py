"""A fitted law: its parameters, how sure they are, and what it was fitted on."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import UserError, nearest
from tongues.laws.allocation import allocate
from tongues.laws.cautions import Caution
from tongues.laws.forms import FORMS
from tongues.laws.uncertainty import percentiles, upright

__all__ = ["Law"]


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """Loss in nats per token as a function of parameters N and training tokens D.

    A law taken from print has only a form and `params`; the figures of a fit are then NaN and the
    draws empty.

    form: `scratch`, L = E + A/N^alpha + B/D^beta, or `cpt`, L = E + A/N^alpha +
        B/(D^beta N^gamma).
    params: by name, of `E A B alpha beta gamma`.
    draws: bootstrap draws of each parameter, all of one length.
    interval: each parameter's 95 % percentile interval.
    objective: the sum over rows of Huber_delta(log predicted − log measured).
    mean_huber: the same, per row.
    gradient_norm: the objective's largest slope at the optimum, in centred logs.
    n_rows, n_runs: what the fit saw.
    delta: the Huber threshold, in log loss.
    range: lowest and highest N, D and loss of the rows; outside it the law extrapolates.
    warnings: why to doubt it.
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

    def __post_init__(self) -> None:
        """Refuse a form or parameters that do not belong together."""
        if self.form not in FORMS:
            raise UserError(f"no law `{self.form}`", where="law", hint=nearest(self.form, FORMS))
        names = FORMS[self.form].names
        if set(self.params) != set(names):
            raise UserError(
                f"the {self.form} law has the parameters {' '.join(names)}", where="params"
            )

    def loss(self, N: ArrayLike, D: ArrayLike) -> np.ndarray:
        """The predicted loss, nats per token, for N parameters trained on D tokens."""
        variables = {"N": np.asarray(N, dtype=float), "D": np.asarray(D, dtype=float)}
        return FORMS[self.form].loss(self.params, variables)

    def loss_interval(self, N: ArrayLike, D: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """The 95 % interval of the predicted loss; it leaves out the noise of a single run."""
        variables = {"N": np.asarray(N, dtype=float), "D": np.asarray(D, dtype=float)}
        spread = upright(self.draws, np.broadcast(*variables.values()).ndim)
        return percentiles(FORMS[self.form].loss(spread, variables))

    def to_json(self) -> dict[str, Any]:
        """Everything, at full precision, as plain JSON values; the allocation comes along."""
        best = allocate(self)
        return {
            "law": self.form,
            "n_rows": self.n_rows,
            "n_runs": self.n_runs,
            "params": dict(self.params),
            "objective": _or_none(self.objective),
            "mean_huber": _or_none(self.mean_huber),
            "gradient_norm": _or_none(self.gradient_norm),
            "interval": {name: list(ends) for name, ends in self.interval.items()},
            "allocation": best.to_json() if best else None,
            "warnings": [{"code": w.code, "sentence": w.sentence} for w in self.warnings],
            "range": {name: list(ends) for name, ends in self.range.items()},
            "delta": _or_none(self.delta),
            "draws": {name: values.tolist() for name, values in self.draws.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The law that `to_json` wrote."""
        return cls(
            form=data["law"],
            params=dict(data["params"]),
            draws={name: np.array(values) for name, values in data["draws"].items()},
            interval={name: (low, high) for name, (low, high) in data["interval"].items()},
            objective=_or_nan(data["objective"]),
            mean_huber=_or_nan(data["mean_huber"]),
            gradient_norm=_or_nan(data["gradient_norm"]),
            n_rows=data["n_rows"],
            n_runs=data["n_runs"],
            delta=_or_nan(data["delta"]),
            range={name: (low, high) for name, (low, high) in data["range"].items()},
            warnings=tuple(Caution(**caution) for caution in data["warnings"]),
        )


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
