"""A fitted law: its parameters, how sure they are, its runs, and how to spend compute by it."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tongues.core.errors import Caution, UserError
from tongues.core.estimate import Estimate
from tongues.core.magnitudes import counted
from tongues.core.randomness import derive_seed
from tongues.laws.forms import FORMS, Form
from tongues.laws.predict import Prediction, Predictor, learn, of_print
from tongues.laws.rows import HoldOut, Rows
from tongues.laws.uncertainty import bootstrap_intervals, percentiles
from tongues.laws.words import law_line, with_interval

_LOOSE = {"at_bound", "zero_E", "ill_conditioned", "not_converged", "no_interior_optimum"}
_LOOSE |= {"loose_base", "sizes_and_tokens_together", "few_sizes", "no_intervals"}
_LOOSE |= {"mixed_experiments"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Law:
    """Loss in nats per token as a function of the form's variables.

    A law taken from print has only a form and `params`; the figures of a fit are then NaN and the
    draws empty.

    form: a name from `FORMS`.
    params: by name.
    draws: bootstrap draws of each parameter, all of one length.
    interval: the 95 % percentile interval of each parameter that was fitted.
    mean_huber: the mean over rows of Huber(log predicted − log measured), threshold 1e-3.
    n_rows, n_runs: what the fit saw.
    range: lowest and highest value of each variable and the loss; outside it the law extrapolates.
    warnings: cautions about it.
    fixed: parameters held at a value.
    holdout: how well the small ones predict the largest.
    source: where a printed law comes from. strategy, target: which runs it is the law of.
    rows: what it was fitted on, for predictions; None for a law taken from print.
    """

    form: str
    params: dict[str, float]
    draws: dict[str, np.ndarray] = field(default_factory=dict)
    interval: dict[str, tuple[float, float]] = field(default_factory=dict)
    mean_huber: float = math.nan
    n_rows: int = 0
    n_runs: int = 0
    range: dict[str, tuple[float, float]] = field(default_factory=dict)
    warnings: tuple[Caution, ...] = ()
    fixed: dict[str, float] = field(default_factory=dict)
    holdout: HoldOut | None = None
    source: str = ""
    strategy: str = ""
    target: str = ""
    rows: Rows | None = None

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
        variables = self.equation.read({"N": N, "D": D} | others)
        return np.asarray(self.equation.loss(self.params, variables))

    def loss_interval(
        self, N: ArrayLike | None = None, D: ArrayLike | None = None, **others: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """The 95 % interval of the law's curve, its form taken as true; `predict` is about runs."""
        variables = self.equation.read({"N": N, "D": D} | others)
        if not self.draws:
            what = "this law has no draws, so no intervals"
            raise UserError(what, where="law", code="no_intervals")
        axes = (1,) * len(np.broadcast_shapes(*map(np.shape, variables.values())))
        draws = {name: values.reshape(-1, *axes) for name, values in self.draws.items()}
        return percentiles(np.asarray(self.equation.loss(draws, variables)))

    def predictor(self, draws: int = 1000, seed: int = 0) -> Predictor:
        """Draws of whole laws with their errors, to be asked anywhere: `predictor(N=…, D=…)`.

        The error of the law's form is a drift that grows with the distance from its runs in
        compute and in tokens per parameter; its size, and the scatter of single runs, are learned
        from the law's own rows. A law without rows has what is usual of both.
        """
        seed, form = derive_seed(seed, "law", self.form, self.strategy, self.target), self.equation
        if self.rows is None:
            return of_print(form, self.params, self.draws, self.range, draws, seed)
        form = form.predicts or form
        return learn(form, self.rows, self.params, self.draws, self.fixed, draws, seed)

    def predict(
        self, N: ArrayLike | None = None, D: ArrayLike | None = None, **others: ArrayLike
    ) -> Prediction:
        """What one run there would end at, with its 95 % predictive interval and draws."""
        return self.predictor()(N, D, **others)

    def __repr__(self) -> str:
        """A few lines: the formula with its numbers, their intervals, and how far to trust them."""
        about = (self.form, self.strategy if self.strategy != self.form else "", self.target)
        formula, params = self.equation.formula, self.params
        pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, params))})(?!\w)")
        shown = pattern.sub(lambda match: f"{params[match[1]]:.4g}", formula)
        others = [name for name in params if name not in pattern.findall(formula)]
        shown += "".join(f", {name} = {params[name]:.4g}" for name in others)
        lines = [f"{' '.join(filter(None, about))}: L = {shown}"]
        ends = (f"{name} {low:.4g} to {high:.4g}" for name, (low, high) in self.interval.items())
        lines += [f"95 %: {', '.join(ends)}"] if self.interval else []
        if self.n_rows:
            held = f"; held out: off by {self.holdout.error:.2%}" if self.holdout else ""
            lines.append(f"fitted to {counted(self.n_rows)} of {counted(self.n_runs, 'run')}{held}")
        lines += [f"from {self.source}"] if self.source else []
        codes = ", ".join(dict.fromkeys(caution.code for caution in self.warnings))
        lines += [f"cautions, explained in `law.warnings`: {codes}"] if codes else []
        return "\n".join(lines)

    def to_json(self, *, draws: bool = True) -> dict[str, Any]:
        """Everything, at full precision, as plain JSON values; the allocation comes along.

        draws: whether the bootstrap draws do too.
        """
        best = allocate(self)
        plain = {
            "law": self.form,
            "strategy": self.strategy,
            "target": self.target,
            "source": self.source,
            "n_rows": self.n_rows,
            "n_runs": self.n_runs,
            "params": self.params,
            "mean_huber": self.mean_huber,
            "interval": self.interval,
            "allocation": best.to_json() if best else None,
            "pinned_down": not self.loose,
            "holdout": asdict(self.holdout) if self.holdout else None,
            "warnings": [asdict(caution) for caution in self.warnings],
            "range": self.range,
            "rows": self.rows.to_json() if self.rows else None,
            "fixed": self.fixed,
        }
        return _plain(plain | ({"draws": self.draws} if draws else {}))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The law that `to_json` wrote; a UserError names what of it is not as it was written."""
        if not isinstance(data, Mapping) or not isinstance(data.get("law"), str):
            raise UserError("holds no law", hint="write one by `tongues fit TABLE -o law.json`")
        form, name = FORMS.find(data["law"]), ""
        values = dict[str, Any]()
        try:
            for name, read in _READ.items():
                if name in data or name not in _OPTIONAL:
                    values[name] = read(data[name])
            return cls(form.name, **values)
        except (KeyError, TypeError, ValueError, AttributeError, UserError) as error:
            reason = "is missing" if isinstance(error, KeyError) else error
            what = f"its {form.name} law is not whole ({name}: {reason})"
            raise UserError(what, hint="write it again by `tongues fit`") from None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Allocation:
    """The compute-optimal split: `N = N_coef C^a` parameters, `D = D_coef C^b` tokens.

    `interval` has the 95 % interval of the four numbers. The coefficients belong to C = 1 FLOP, far
    from any run, so ask `sizes_interval` for the uncertainty at the compute you have.
    """

    N_coef: float
    a: float
    D_coef: float
    b: float
    interval: dict[str, tuple[float, float]]
    draws: dict[str, np.ndarray]

    def sizes(self, compute: float) -> tuple[float, float]:
        """Parameters and tokens that spend `compute` FLOPs best."""
        return self.N_coef * compute**self.a, self.D_coef * compute**self.b

    def sizes_interval(self, compute: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """The 95 % intervals of both at `compute` FLOPs; the law must have draws."""
        if not self.draws:
            what = "this law has no draws, so no intervals"
            raise UserError(what, where="law", code="no_intervals")
        sizes = self.draws["N_coef"] * compute ** self.draws["a"]
        (low, high), (least, most) = percentiles(sizes), percentiles(compute / (6.0 * sizes))
        return (float(low), float(high)), (float(least), float(most))

    @property
    def numbers(self) -> dict[str, float]:
        """All four by name."""
        return {"N_coef": self.N_coef, "a": self.a, "D_coef": self.D_coef, "b": self.b}

    @property
    def sentences(self) -> list[str]:
        """The size and the tokens as powers of compute, with the intervals of the exponents."""
        powers = {n: with_interval(self.numbers[n], self.interval.get(n)) for n in "ab"}
        return [law_line(kind, **self.numbers | powers) for kind in ("best size", "best tokens")]

    def __repr__(self) -> str:
        """Both lines."""
        return "\n".join(self.sentences)

    def to_json(self) -> dict[str, Any]:
        """The four numbers and their intervals."""
        return self.numbers | {"interval": {n: list(ends) for n, ends in self.interval.items()}}


def allocate(law: Law) -> Allocation | None:
    """The compute-optimal allocation of a law, or None where it has no interior optimum.

    It minimises the loss under C = 6 N D. The law's own cautions (`no_interior_optimum`,
    `optimum_in_doubt`) give the reason.
    """
    split, params, draws = law.equation.split, law.params, law.draws
    if split is None or not split.interior(params):
        return None
    point = {name: float(value) for name, value in split.sizes(params).items()}
    best: dict[str, np.ndarray] = {}
    if draws:
        inside = split.interior(draws)
        best = split.sizes({name: values[inside] for name, values in draws.items()})
    return Allocation(**point, interval=bootstrap_intervals(best, point), draws=best)


def _plain(value: Any) -> Any:
    """As JSON has it, with None for numbers that it does not know."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(one) for one in (value.tolist() if isinstance(value, np.ndarray) else value)]
    return value


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    numbers = {name: float(value) for name, value in values.items()}
    if not all(map(math.isfinite, numbers.values())):
        raise ValueError("is not finite")
    return numbers


def _draws(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    draws = {name: np.array(own, dtype=float) for name, own in values.items()}
    if len(set(map(len, draws.values()))) > 1:
        raise ValueError("are not of one number")
    return draws


def _ends(values: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    ends = {name: (_number(low), _number(high)) for name, (low, high) in values.items()}
    for low, high in ends.values():
        if low > high:
            raise ValueError(f"goes from {low:g} to {high:g}")
    return ends


def _held_out(held: Mapping[str, Any] | None) -> HoldOut | None:
    return HoldOut(**{of.name: held[of.name] for of in fields(HoldOut)}) if held else None


_READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("params", "fixed"), _finite),
    "mean_huber": _number,
    **dict.fromkeys(("n_rows", "n_runs"), int),
    **dict.fromkeys(("source", "strategy", "target"), str),
    "draws": _draws,
    **dict.fromkeys(("interval", "range"), _ends),
    "warnings": lambda cautions: tuple(Caution(**one) for one in cautions),
    "holdout": _held_out,
    "rows": lambda rows: Rows.from_json(rows) if rows else None,
}
_OPTIONAL = ("draws", "holdout", "rows")
