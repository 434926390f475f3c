"""Rows a law is fitted on, checked: what cannot be fitted is refused with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import UserError
from tongues.laws.forms import Form

__all__ = ["Rows", "positive", "read_rows"]

_WORDS = {"N": "model sizes (N)", "D": "token counts (D)", "C": "amounts of compute (C)"}


@dataclass(frozen=True, slots=True)
class Rows:
    """Checked rows: variables by name, loss in nats per token, and each row's run by number."""

    variables: dict[str, np.ndarray]
    loss: np.ndarray
    run: np.ndarray
    n_runs: int

    @property
    def range(self) -> dict[str, tuple[float, float]]:
        """The lowest and highest value of each variable and of the loss."""
        columns = self.variables | {"loss": self.loss}
        return {name: (float(v.min()), float(v.max())) for name, v in columns.items()}

    def take(self, index: np.ndarray) -> Self:
        """The rows at `index`, in that order, their runs numbered anew."""
        columns = {name: values[index] for name, values in self.variables.items()}
        distinct, run = np.unique(self.run[index], return_inverse=True)
        return type(self)(columns, self.loss[index], run, len(distinct))


def positive(name: str, values: ArrayLike, *, zero: bool = False) -> np.ndarray:
    """A column of positive finite numbers, or a `UserError` that names the first that is not.

    zero: whether zero may occur too.
    """
    try:
        column = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise UserError(f"{name} must be numbers", where=name) from None
    if column.ndim != 1:
        raise UserError(f"{name} must be a plain list of numbers", where=name)
    bad = np.flatnonzero(~(np.isfinite(column) & ((column > 0) | (zero & (column == 0)))))
    if bad.size:
        raise UserError(
            f"{name} must be positive and finite, but row {bad[0]} is {column[bad[0]]:g}",
            where=name,
            hint="drop the rows of runs that diverged or were not measured",
        )
    return column


def read_rows(
    form: Form,
    variables: Mapping[str, ArrayLike],
    loss: ArrayLike,
    runs: ArrayLike | None,
) -> Rows:
    """Check rows for `form`; without `runs` every row is a run of its own."""
    columns = {name: positive(name, values) for name, values in variables.items()}
    losses = positive("loss", loss)
    names = np.arange(len(losses)) if runs is None else np.ravel(np.asarray(runs).astype(str))
    lengths = {name: len(v) for name, v in (columns | {"loss": losses, "runs": names}).items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise UserError(f"the columns differ in length: {said}", where="rows")
    needed = len(form.free) + 1
    if len(losses) < needed:
        raise UserError(
            f"{len(losses)} rows are too few for the {form.name} law, which needs {needed}",
            where="rows",
            hint="add runs, or more checkpoints of the same runs",
        )
    for name in form.variables:
        if len(np.unique(columns[name])) < 2:
            raise UserError(
                f"the {form.name} law needs at least two {_WORDS[name]}",
                where=name,
                hint="train at least one more run that differs in it",
            )
    distinct, run = np.unique(names, return_inverse=True)
    return Rows(columns, losses, run, len(distinct))
