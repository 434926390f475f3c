"""Rows a law is fitted on, checked: what cannot be fitted is refused with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tongues.core.errors import UserError
from tongues.laws.forms import Form

_WORDS = {"N": "model sizes (N)", "D": "token counts (D)", "C": "amounts of compute (C)"}
_LEAST, _MOST = 1e-30, 1e40  # no count, loss or compute is outside
_HELD = 0.2  # at most this share of the runs is held out, but one at least
_LIKE = 0.02  # budgets nearer than this are one
_SIZES = 3  # sizes at least that stay to be fitted
FEWEST_RUNS = 3  # resamples of two runs would all be alike


@dataclass(frozen=True, slots=True)
class Rows:
    """Checked rows: variables by name, loss in nats per token, each row's run by number.

    runs: their names.
    """

    variables: dict[str, np.ndarray]
    loss: np.ndarray
    run: np.ndarray
    runs: tuple[str, ...]

    @property
    def n_runs(self) -> int:
        """How many runs the rows are checkpoints of."""
        return len(self.runs)

    @property
    def range(self) -> dict[str, tuple[float, float]]:
        """The lowest and highest value of each variable, of the loss, of compute and of D/N."""
        columns = self.variables | {"loss": self.loss}
        if {"N", "D"} <= columns.keys():
            N, D = columns["N"], columns["D"]
            columns |= {"C": 6.0 * N * D, "D/N": D / N}
        return {name: (float(v.min()), float(v.max())) for name, v in columns.items()}

    def take(self, index: np.ndarray) -> Self:
        """The rows at `index` (or where a mask holds), in order, runs numbered from zero."""
        columns = {name: values[index] for name, values in self.variables.items()}
        kept, run = _numbered(self.run[index])
        return type(self)(columns, self.loss[index], run, tuple(self.runs[i] for i in kept))

    def to_json(self) -> dict[str, Any]:
        """A list a column; each row's run by its name."""
        columns = {name: values.tolist() for name, values in self.variables.items()}
        return {
            "variables": columns,
            "loss": self.loss.tolist(),
            "runs": [self.runs[i] for i in self.run.tolist()],
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The rows that `to_json` wrote."""
        variables = {name: positive(name, v, zero=True) for name, v in plain["variables"].items()}
        distinct, run = _numbered(np.asarray(plain["runs"], dtype=str))
        names = tuple(map(str, distinct))
        return cls(variables, positive("loss", plain["loss"]), run, names)


@dataclass(frozen=True, slots=True)
class HoldOut:
    """Fitted without the runs of most compute, what it predicts for them.

    above: the most FLOPs that were fitted.
    params: of the law fitted without them, as was its base where its rows are known.
    bias, error: mean of predicted / measured − 1, and of its absolute value.
    error_within: mean absolute value of the same on the rows it was fitted on.
    """

    above: float
    params: dict[str, float]
    n_runs: int
    bias: float
    error: float
    error_within: float


def positive(name: str, values: ArrayLike, *, zero: bool = False) -> np.ndarray:
    """A column of positive finite numbers, or a `UserError` that names the first that is not.

    zero: whether zero may occur too.
    """
    try:
        column = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise UserError(f"{name} must be numbers", where=name, code="text_cells") from None
    if column.ndim != 1:
        raise UserError(f"{name} must be a plain list of numbers", where=name)
    sane = (column > _LEAST) & (column < _MOST)
    bad = np.flatnonzero(~(sane | (zero & (column == 0))))
    if bad.size:
        what = f"{name} must be positive and finite, but row {bad[0]} is {column[bad[0]]:g}"
        hint = "drop the rows of runs that diverged or were not measured"
        raise UserError(what, where=name, hint=hint, code="not_positive")
    return column


def read_rows(
    form: Form,
    variables: Mapping[str, ArrayLike],
    loss: ArrayLike,
    runs: ArrayLike | None,
    free: int,
) -> Rows:
    """Check rows for `form`; without `runs` every row is a run of its own.

    free: how many parameters are to be found.
    """
    if missing := [name for name in form.variables if name not in variables]:
        what = f"the {form.name} law needs {' and '.join(missing)}"
        raise UserError(what, where="rows", code="missing_column")
    columns = {name: positive(name, variables[name], zero=name == "r") for name in form.variables}
    losses = positive("loss", loss)
    names = np.arange(len(losses)) if runs is None else np.ravel(np.asarray(runs).astype(str))
    lengths = {name: len(v) for name, v in (columns | {"loss": losses, "runs": names}).items()}
    if len(set(lengths.values())) > 1:
        each = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise UserError(f"the columns differ in length: {each}", where="rows")
    if len(losses) < free + 1:
        rows = "1 row is" if len(losses) == 1 else f"{len(losses)} rows are"
        what = f"{rows} too few for the {form.name} law, which needs {free + 1}"
        hint = "add runs, or more checkpoints of the same runs"
        raise UserError(what, where="rows", hint=hint, code="too_few_rows")
    for name in (name for name in form.variables if name in _WORDS):
        if len(np.unique(columns[name])) < 2:
            raise UserError(
                f"the {form.name} law needs at least two {_WORDS[name]}; "
                f"all {len(losses)} rows have {name} = {columns[name][0]:g}",
                where=name,
                hint="train at least one more run that differs in it",
                code="single_value",
            )
    if columns.get("r", np.zeros(1)).max() > 1:
        raise UserError("a share (r) is between 0 and 1", where="r", code="not_a_share")
    distinct, run = _numbered(names)
    return Rows(columns, losses, run, tuple(str(name) for name in distinct))


def _numbered(names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct names as they first appear, and the number of each row's."""
    distinct, first, run = np.unique(names, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return distinct[order], np.argsort(order)[run]


def spent(variables: Mapping[str, np.ndarray]) -> np.ndarray:
    """The FLOPs of runs, or what grows with them where sizes or tokens are not known."""
    if "C" in variables:
        return variables["C"]
    return 6.0 * variables.get("N", np.ones(1)) * variables.get("D", np.ones(1))


def records(loss: np.ndarray) -> np.ndarray:
    """Which of the points, in order of compute, are below all before them (last axis)."""
    before = np.minimum.accumulate(loss, axis=-1)[..., :-1]
    first = np.full((*loss.shape[:-1], 1), np.inf)
    return loss < np.concatenate([first, before], axis=-1)


def hold_out_compute(rows: Rows, fewest: int = 1) -> np.ndarray | None:
    """Which rows are of the runs of most compute; None where too few sizes would be left.

    Runs are held out whole, but for laws of compute alone, where points of an envelope are.
    fewest: runs that may be held out even where they are more than a fifth.
    """
    compute = spent(rows.variables)
    if "C" not in rows.variables:
        of_run = np.zeros(rows.n_runs)
        np.maximum.at(of_run, rows.run, compute)
        compute = np.exp(_LIKE * np.round(np.log(of_run[rows.run]) / _LIKE))
    levels = np.unique(compute)
    runs = [len(np.unique(rows.run[compute >= level])) for level in levels]
    most = max(fewest, _HELD * rows.n_runs, runs[-1])
    held = compute >= levels[np.flatnonzero(np.array(runs) <= most)[0]]
    sizes = rows.variables.get("N", compute)
    return held if len(np.unique(sizes[~held])) >= _SIZES else None


def draw_runs(rows: Rows, form: Form, draws: int) -> np.ndarray:
    """How often each run is in each resample, (draws, runs); no resamples of fewer than 3 runs.

    The rows of one run are correlated, so runs are drawn whole. A resample with a single value of
    a variable that has several cannot be fitted and is drawn again.
    """
    stage = sum(form.name.encode())  # a law and its base must not resample in step
    random = np.random.default_rng([0, stage])
    even = np.full(rows.n_runs, 1.0 / rows.n_runs)
    holds = []  # by variable: which runs have which of its values
    for name in form.variables:
        values, level = np.unique(rows.variables[name], return_inverse=True)
        if len(values) > 1:
            holds.append(np.zeros((rows.n_runs, len(values))))
            holds[-1][rows.run, level] = 1.0
    kept = np.empty((0, rows.n_runs))
    while rows.n_runs >= FEWEST_RUNS and len(kept) < draws:
        counts = random.multinomial(rows.n_runs, even, size=draws).astype(float)
        fit = np.all([((counts @ table) > 0).sum(1) > 1 for table in holds], axis=0)
        kept = np.concatenate([kept, counts[fit]])
    return kept[:draws]
