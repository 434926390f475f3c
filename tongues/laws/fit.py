"""From a table of runs to a law: check, solve, resample, and say what to doubt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import UserError
from tongues.laws.cautions import doubts_of_fit
from tongues.laws.forms import FORMS, Form, check_names
from tongues.laws.law import Law
from tongues.laws.rows import Rows, read_rows
from tongues.laws.solver import FitProblem, Optimum, Ties, pose, read_ties, solve
from tongues.laws.uncertainty import bootstrap_intervals, draw_runs, refit

__all__ = ["FitRequest", "FitTask", "prepare", "records"]


@dataclass(frozen=True, slots=True)
class FitRequest:
    """Which law to fit, and how; as for `tongues.laws.fit`.

    base: the law to stand on. drop_highest: how many of the highest losses to leave out.
    """

    law: str = "chinchilla"
    base: Law | None = None
    drop_highest: int = 0
    delta: float = 1e-3
    draws: int = 1000
    seed: int = 0
    fix: Mapping[str, float] = field(default_factory=dict)
    tie: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class FitTask:
    """A form, checked rows, and how to fit it to them.

    base: whose parameters are taken over. delta: the Huber threshold, in log loss. draws: how many
    resamples, by `seed`. ties: what is held.
    """

    form: Form
    rows: Rows
    base: Law | None = None
    delta: float = 1e-3
    draws: int = 1000
    seed: int = 0
    ties: Ties = field(default_factory=Ties)

    def pose(self) -> FitProblem:
        """The rows laid out for the solver."""
        return pose(self.form, self.rows.variables, self.rows.loss, self.delta, self.ties)

    @property
    def taken(self) -> dict[str, np.ndarray]:
        """The base's own values of the parameters that come from it."""
        base = self.base
        return (
            {name: np.array([base.params[name]]) for name in self.form.taken_names} if base else {}
        )

    def weights(self, counts: np.ndarray) -> np.ndarray:
        """How often each row counts where its run does so often, (draws, rows)."""
        weights = counts[:, self.rows.run]
        if not self.form.envelope:
            return weights
        return records(np.where(weights > 0, self.rows.loss, np.inf)).astype(float)

    def fit(self) -> Law:
        """The law with its intervals, and what to doubt."""
        form, rows, ties, problem = self.form, self.rows, self.ties, self.pose()
        used = records(rows.loss) if form.envelope else np.ones(len(rows.loss), bool)
        if used.sum() <= len(problem.names):
            raise UserError(
                f"only {used.sum()} points lie on the envelope, too few for the {form.name} law",
                where="loss",
                hint="add runs with more compute, or leave out runs whose loss rises",
                code="too_few_rows",
            )
        optimum = solve(problem, used.astype(float), problem.context(self.taken))
        values = problem.params(optimum.theta[0]) | {n: v[0] for n, v in self.taken.items()}
        values = {name: float(value) for name, value in values.items()} | dict(ties.fixed)
        values |= {name: values[leader] for name, leader in ties.tied.items()}
        params = {name: values[name] for name in form.names}
        draws = self._resample(problem, optimum)
        interval = {
            n: e for n, e in bootstrap_intervals(draws, params).items() if n not in ties.fixed
        }
        fitted = rows.take(np.flatnonzero(used))
        return Law(
            form=form.name,
            params=params,
            draws=draws,
            interval=interval,
            objective=float(optimum.objective[0]),
            mean_huber=float(optimum.objective[0]) / len(fitted.loss),
            gradient_norm=float(optimum.gradient[0]),
            n_rows=len(fitted.loss),
            n_runs=fitted.n_runs,
            delta=self.delta,
            range=fitted.range,
            fixed=dict(ties.fixed),
            tied=dict(ties.tied),
            warnings=doubts_of_fit(
                problem, optimum, rows, fitted, self.base, self.draws, params, draws, interval
            ),
        )

    def _resample(self, problem: FitProblem, optimum: Optimum) -> dict[str, np.ndarray]:
        """Every parameter in every resample; each takes one draw of the base, in turn."""
        counts = draw_runs(self.rows, self.form, self.draws, self.seed)
        if not len(counts):
            return {}
        of_base = self.base.draws if self.base else {}
        taken = {n: np.resize(of_base.get(n, v), len(counts)) for n, v in self.taken.items()}
        context = problem.context(taken)
        draws = refit(problem, optimum.theta[0], self.weights(counts), context) | taken
        return {name: draws[name] for name in self.form.names}


def prepare(
    request: FitRequest,
    variables: Mapping[str, ArrayLike],
    loss: ArrayLike,
    units: ArrayLike | None,
) -> FitTask:
    """Check everything a fit is given; a UserError names what is wrong.

    units: what is resampled as one, of each row; None where every row is a run of its own.
    """
    law, base, delta, draws = request.law, request.base, request.delta, request.draws
    form = FORMS.find(law)
    check_names(variables)
    if not 0 < delta < np.inf:
        raise UserError(f"delta must be positive, not {delta:g}", where="delta")
    if draws < 0:
        raise UserError(f"draws must not be negative, not {draws}", where="draws")
    if form.base and base is None:
        hint = f"fit the {form.base} law first and give it as the base"
        what = f"the {law} law stands on a {form.base} law"
        raise UserError(what, where="base", hint=hint, code="missing_base")
    if base is not None and base.form != form.base:
        wanted = f"is a {form.base} law, not {base.form}" if form.base else "is not needed"
        raise UserError(f"the base of a {law} law {wanted}", where="base")
    ties = read_ties(form, request.fix, request.tie)
    rows = read_rows(form, variables, loss, units, len(ties.free(form.free)))
    if form.envelope:
        rows = rows.take(np.lexsort((rows.loss, rows.variables["C"])))
    floor = ties.fixed.get(form.floor or "", 0.0)
    below = np.flatnonzero(rows.loss <= floor)
    if below.size:
        raise UserError(
            f"{form.floor} cannot be {floor:g}: {below.size} rows have a loss at or below it, "
            f"the lowest {rows.loss.min():g}",
            where=form.floor or "",
            code="below_floor",
        )
    return FitTask(form, rows, base, delta, draws, request.seed, ties)


def records(loss: np.ndarray) -> np.ndarray:
    """Which of the points, in order of compute, lie below all before them (last axis)."""
    before = np.minimum.accumulate(loss, axis=-1)[..., :-1]
    first = np.full((*loss.shape[:-1], 1), np.inf)
    return loss < np.concatenate([first, before], axis=-1)
