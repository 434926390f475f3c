"""From a table of runs to a law: check, solve, resample, and say what to doubt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import UserError
from tongues.laws.allocation import about_allocation
from tongues.laws.cautions import (
    about_base,
    about_bounds,
    about_draws,
    about_intervals,
    about_optimum,
    about_residuals,
    about_rows,
)
from tongues.laws.forms import FORMS, Form, check_names
from tongues.laws.law import Law
from tongues.laws.rows import Rows, read_rows
from tongues.laws.solver import Optimum, Problem, Ties, pose, read_ties, solve
from tongues.laws.uncertainty import draw_runs, intervals, refit

__all__ = ["Manner", "Request", "fit_rows", "prepare", "records"]


@dataclass(frozen=True, slots=True)
class Manner:
    """How to fit: the Huber threshold (in log loss), resamples, their seed, what is held."""

    delta: float = 1e-3
    draws: int = 1000
    seed: int = 0
    ties: Ties = field(default_factory=Ties)


@dataclass(frozen=True, slots=True)
class Request:
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


def prepare(
    request: Request,
    variables: Mapping[str, ArrayLike],
    loss: ArrayLike,
    units: ArrayLike | None,
) -> tuple[Form, Rows, Manner]:
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
        raise UserError(
            f"the {law} law stands on a {form.base} law",
            where="base",
            hint=f"fit the {form.base} law first and give it as the base",
            code="missing_base",
        )
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
    return form, rows, Manner(delta, draws, request.seed, ties)


def fit_rows(form: Form, rows: Rows, base: Law | None, manner: Manner) -> Law:
    """Fit a form to checked rows."""
    taken = {name: np.array([base.params[name]]) for name in form.taken_names} if base else {}
    problem = pose(form, rows.variables, rows.loss, manner.delta, manner.ties)
    context = problem.context(taken)
    used = records(rows.loss) if form.envelope else np.ones(len(rows.loss), bool)
    if used.sum() <= len(problem.names):
        raise UserError(
            f"only {used.sum()} points lie on the envelope, too few for the {form.name} law",
            where="loss",
            hint="add runs with more compute, or leave out runs whose loss rises",
            code="too_few_rows",
        )
    optimum = solve(problem, used.astype(float), context)
    found = {name: float(v) for name, v in problem.params(optimum.theta[0]).items()}
    found |= {name: float(value[0]) for name, value in taken.items()} | dict(manner.ties.fixed)
    found |= {name: found[leader] for name, leader in manner.ties.tied.items()}
    params = {name: found[name] for name in form.names}
    spread = _resample(form, rows, base, manner, problem, optimum)
    interval = {
        name: ends
        for name, ends in intervals(spread, params).items()
        if name not in manner.ties.fixed
    }
    fitted = rows.take(np.flatnonzero(used))
    residual = np.log(fitted.loss) - np.log(form.loss(params, fitted.variables))
    return Law(
        form=form.name,
        params=params,
        draws=spread,
        interval=interval,
        objective=float(optimum.objective[0]),
        mean_huber=float(optimum.objective[0]) / len(fitted.loss),
        gradient_norm=float(optimum.gradient[0]),
        n_rows=len(fitted.loss),
        n_runs=fitted.n_runs,
        delta=manner.delta,
        range=fitted.range,
        fixed=dict(manner.ties.fixed),
        tied=dict(manner.ties.tied),
        warnings=(
            *about_rows(fitted, form, problem.names),
            *about_draws(fitted, manner.draws),
            *about_residuals(fitted, residual),
            *(about_base(rows, form, base) if base else ()),
            *about_optimum(problem, optimum),
            *about_bounds(problem, interval),
            *about_intervals(form, params, interval),
            *about_allocation(form, params, spread),
        ),
    )


def records(loss: np.ndarray) -> np.ndarray:
    """Which of the points, in order of compute, lie below all before them (last axis)."""
    before = np.minimum.accumulate(loss, axis=-1)[..., :-1]
    first = np.full((*loss.shape[:-1], 1), np.inf)
    return loss < np.concatenate([first, before], axis=-1)


def _resample(
    form: Form,
    rows: Rows,
    base: Law | None,
    manner: Manner,
    problem: Problem,
    optimum: Optimum,
) -> dict[str, np.ndarray]:
    """Every parameter in every resample; each takes one draw of the base, in turn."""
    counts = draw_runs(rows, form, manner.draws, manner.seed)
    if not len(counts):
        return {}
    taken = {
        name: np.resize(base.draws.get(name, base.params[name]), len(counts))
        for name in form.taken_names
        if base
    }
    weights = counts[:, rows.run]
    if form.envelope:
        weights = records(np.where(weights > 0, rows.loss, np.inf)).astype(float)
    spread = refit(problem, optimum.theta[0], weights, problem.context(taken)) | taken
    return {name: spread[name] for name in form.names}
