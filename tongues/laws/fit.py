"""From a table of runs to a law: check, solve, resample, and how far to trust it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from tongues.core.errors import Caution, UserError
from tongues.core.magnitudes import counted
from tongues.laws.cautions import doubts_of_fit
from tongues.laws.forms import FORMS, Form, check_names
from tongues.laws.law import Law
from tongues.laws.rows import (
    FEWEST_RUNS,
    HoldOut,
    Rows,
    draw_runs,
    hold_out_compute,
    read_rows,
    records,
    spent,
)
from tongues.laws.solver import FitProblem, pose, read_fixed, solve
from tongues.laws.uncertainty import bootstrap_intervals, refit
from tongues.laws.words import caution
from tongues.runs.tables import Observations
from tongues.runs.tables.checks import copies, name_rows, other_unit


@dataclass(frozen=True, slots=True)
class FitTask:
    """A form, checked rows, and how to fit it to them.

    base: whose parameters are taken over. draws: how many resamples. fixed: parameters held at a
    value.
    """

    form: Form
    rows: Rows
    base: Law | None = None
    draws: int = 1000
    fixed: Mapping[str, float] = field(default_factory=dict)

    def pose(self) -> FitProblem:
        """The rows laid out for the solver."""
        return pose(self.form, self.rows.variables, self.rows.loss, self.fixed)

    @property
    def taken(self) -> dict[str, np.ndarray]:
        """The base's own values of the parameters that come from it."""
        known = self.base.params if self.base else {}
        return {name: np.array([known[name]]) for name in self.form.taken_names if self.base}

    def weights(self, counts: np.ndarray) -> np.ndarray:
        """How often each row counts where its run does so often, (draws, rows)."""
        weights = counts[:, self.rows.run]
        if not self.form.envelope:
            return weights
        return records(np.where(weights > 0, self.rows.loss, np.inf)).astype(float)

    def fit(self) -> Law:
        """The law with its intervals, and cautions."""
        form, rows, fixed, problem = self.form, self.rows, self.fixed, self.pose()
        used = records(rows.loss) if form.envelope else np.ones(len(rows.loss), bool)
        if used.sum() <= len(problem.names):
            raise UserError(
                f"only {used.sum()} points are on the envelope, too few for the {form.name} law",
                where="loss",
                hint="add runs with more compute, or leave out runs whose loss rises",
                code="too_few_rows",
            )
        optimum = solve(problem, used.astype(float), problem.context(self.taken))
        values = problem.params(optimum.theta[0]) | {n: v[0] for n, v in self.taken.items()}
        values = {name: float(value) for name, value in values.items()} | dict(fixed)
        params = {name: values[name] for name in form.names}
        draws: dict[str, np.ndarray] = {}
        counts = draw_runs(rows, form, self.draws)
        if len(counts):  # each resample takes one draw of the base, in turn
            of_base = self.base.draws if self.base else {}
            taken = {n: np.resize(of_base.get(n, v), len(counts)) for n, v in self.taken.items()}
            weights, context = self.weights(counts), problem.context(taken)
            draws = refit(problem, optimum.theta[0], weights, context) | taken
            draws = {name: draws[name] for name in form.names}
        interval = {n: e for n, e in bootstrap_intervals(draws, params).items() if n not in fixed}
        fitted = rows.take(np.flatnonzero(used))
        law = Law(
            form=form.name,
            params=params,
            draws=draws,
            interval=interval,
            mean_huber=float(optimum.objective[0]) / len(fitted.loss),
            n_rows=len(fitted.loss),
            n_runs=fitted.n_runs,
            range=fitted.range,
            fixed=dict(fixed),
            rows=fitted,
        )
        doubts = doubts_of_fit(law, fitted, problem, optimum, self.base)
        return replace(law, warnings=doubts)


def prepare(
    law: str,
    variables: Mapping[str, ArrayLike],
    loss: ArrayLike,
    units: ArrayLike | None,
    *,
    base: Law | None = None,
    fix: Mapping[str, float] | None = None,
    draws: int = 1000,
) -> FitTask:
    """Check everything a fit is given, as for `fit`; a UserError names what is wrong.

    units: what is resampled as one, of each row; None where every row is a run of its own.
    """
    form = FORMS.find(law)
    check_names(variables)
    if form.base and base is None:
        hint = f"fit the {form.base} law first and give it as the base"
        what = f"the {law} law needs a {form.base} law as its base"
        raise UserError(what, where="base", hint=hint, code="missing_base")
    if base is not None and base.form != form.base:
        wanted = f"is a {form.base} law, not {base.form}" if form.base else "is not needed"
        raise UserError(f"the base of a {law} law {wanted}", where="base")
    fixed = read_fixed(form, fix or {})
    rows = read_rows(form, variables, loss, units, len(set(form.free) - set(fixed)))
    if form.envelope:
        rows = rows.take(np.lexsort((rows.loss, rows.variables["C"])))
    floor = fixed.get(form.floor or "", 0.0)
    below = np.flatnonzero(rows.loss <= floor)
    if below.size:
        raise UserError(
            f"{form.floor} cannot be {floor:g}: {below.size} rows have a loss at or below it, "
            f"the lowest {rows.loss.min():g}",
            where=form.floor or "",
            code="below_floor",
        )
    return FitTask(form, rows, base, draws, fixed)


def fit(
    law: str,
    loss: ArrayLike,
    runs: ArrayLike | None = None,
    *,
    base: Law | None = None,
    fix: Mapping[str, float] | None = None,
    draws: int = 1000,
    **variables: ArrayLike,
) -> Law:
    """Fit a law to runs, with intervals, cautions and a held-out test.

    Rows that are copies of others are left out, as `tongues fit` does with a table.

    law: a name from `FORMS`, such as `chinchilla` or `cpt`.
    loss: held-out loss in nats per token, a value a row.
    runs: the run each row is a checkpoint of; runs are resampled whole. Without it each row is a
        run of its own.
    base: the law whose parameters are taken over, where the form needs one; each resample takes
        one of its draws, so that the intervals carry its uncertainty.
    fix: parameters held at a value.
    draws: bootstrap resamples for the intervals.
    variables: the law's, by name: `N=…, D=…`.
    """
    task = prepare(law, variables, loss, runs, base=base, fix=fix, draws=draws)
    task, doubts = _checked(task, of_runs=runs is not None)
    fitted = _examined(task)
    return replace(fitted, warnings=(*doubts, *fitted.warnings))


def _checked(task: FitTask, *, of_runs: bool) -> tuple[FitTask, list[Caution]]:
    """The same without rows that are copies of others, and what is odd about the losses."""
    rows, doubts = task.rows, list[Caution]()
    columns = [*rows.variables.values(), rows.loss, *([rows.run] if of_runs else [])]
    again = copies(zip(*(column.tolist() for column in columns), strict=True))
    if again.any():
        named = name_rows([f"row {i}" for i in range(len(again))], np.flatnonzero(again))
        doubts.append(caution("duplicate_rows", rows=counted(int(again.sum())), named=named))
        task = replace(task, rows=rows.take(np.flatnonzero(~again)))
    if unit := other_unit("loss", task.rows.loss):
        doubts.append(unit)
    return task, doubts


def fit_observed(
    observed: Observations,
    law: str,
    base: Law | None = None,
    *,
    fix: Mapping[str, float] | None = None,
    draws: int = 1000,
) -> Law:
    """Fit a law, by its name, to rows from a table or from runs."""
    units = observed.units or observed.runs
    task = prepare(law, observed.variables, observed.loss, units, base=base, fix=fix, draws=draws)
    fitted = _examined(task)
    if observed.units and observed.runs:
        fitted = replace(fitted, n_runs=len(set(observed.runs)))
    return fitted


def _examined(task: FitTask) -> Law:
    return replace(task.fit(), holdout=_hold_out(task))


def _hold_out(task: FitTask) -> HoldOut | None:
    """Fit without the runs of most compute, and predict them; None when too few.

    The base is fitted again without such runs too, where its rows are known.
    """
    form, rows, base = task.form, task.rows, task.base
    if not {"N", "C"}.intersection(form.variables):
        return None
    if form.envelope:
        rows = rows.take(np.flatnonzero(records(rows.loss)))
    held = hold_out_compute(rows)
    if held is None:
        return None
    small, large = rows.take(~held), rows.take(held)
    above = float(spent(small.variables).max())
    try:
        if base and base.rows:
            below = base.rows.take(spent(base.rows.variables) <= above)
            of_base = FORMS.find(base.form)
            again = replace(task, form=of_base, rows=below, base=None, draws=0, fixed=base.fixed)
            base = again.fit()
        law = replace(task, rows=small, base=base, draws=0).fit()
    except UserError:  # too little is left to fit
        return None
    if small.n_runs < FEWEST_RUNS or len(small.loss) < 2 * len(law.params):
        return None
    off, within = (form.loss(law.params, r.variables) / r.loss - 1.0 for r in (large, small))
    return HoldOut(
        above=above,
        params=law.params,
        n_runs=large.n_runs,
        bias=float(off.mean()),
        error=float(np.abs(off).mean()),
        error_within=float(np.abs(within).mean()),
    )
