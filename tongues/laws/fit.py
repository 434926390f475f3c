"""From a table of runs to a law: check, solve, resample, and say what to doubt."""

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import UserError
from tongues.laws.allocation import about_allocation
from tongues.laws.cautions import about_base, about_intervals, about_optimum, about_rows
from tongues.laws.forms import CPT, SCRATCH, Form
from tongues.laws.law import Law
from tongues.laws.rows import read_rows
from tongues.laws.solve import pose, solve
from tongues.laws.uncertainty import draw_runs, intervals, refit

__all__ = ["check_settings", "fit_cpt", "fit_scratch"]


def fit_scratch(
    N: ArrayLike,
    D: ArrayLike,
    loss: ArrayLike,
    runs: ArrayLike | None = None,
    *,
    delta: float = 1e-3,
    draws: int = 1000,
    seed: int = 0,
) -> Law:
    """Fit L = E + A/N^alpha + B/D^beta to runs that started from random weights.

    N: parameters of each row's model.
    D: training tokens it had seen.
    loss: held-out loss in nats per token.
    runs: the run each row is a checkpoint of; runs are resampled whole. Without it each row is a
        run.
    delta: the Huber threshold, in log loss.
    draws: bootstrap resamples for the intervals.
    seed: of the resampling.
    """
    return _fit(SCRATCH, N, D, loss, runs, None, delta, draws, seed)


def fit_cpt(
    N: ArrayLike,
    D: ArrayLike,
    loss: ArrayLike,
    base: Law,
    runs: ArrayLike | None = None,
    *,
    delta: float = 1e-3,
    draws: int = 1000,
    seed: int = 0,
) -> Law:
    """Fit L = E + A/N^alpha + B/(D^beta N^gamma) to runs that continued a trained model.

    E, A and alpha are the base's; each resample takes those of one draw of the base, so that the
    intervals of B, beta and gamma carry its uncertainty.

    base: the scratch law of the same target text.
    D: tokens of continued training, not those of the source model.
    N, loss, runs, delta, draws, seed: as for `fit_scratch`.
    """
    if base.form != SCRATCH.name:
        raise UserError(f"the base of a cpt law is a scratch law, not {base.form}", where="base")
    return _fit(CPT, N, D, loss, runs, base, delta, draws, seed)


def check_settings(delta: float, draws: int) -> None:
    """Refuse a threshold or a number of resamples that means nothing."""
    if not 0 < delta < np.inf:
        raise UserError(f"delta must be positive, not {delta:g}", where="delta")
    if draws < 0:
        raise UserError(f"draws must not be negative, not {draws}", where="draws")


def _fit(
    form: Form,
    N: ArrayLike,
    D: ArrayLike,
    loss: ArrayLike,
    runs: ArrayLike | None,
    base: Law | None,
    delta: float,
    draws: int,
    seed: int,
) -> Law:
    check_settings(delta, draws)
    rows = read_rows(form, {"N": N, "D": D}, loss, runs)
    taken = {name: base.params[name] for name in form.names if base and name not in form.free}
    known = form.known(taken, rows.variables)
    problem = pose(form, rows.variables, rows.loss, delta)
    optimum = solve(problem, np.ones(len(rows.loss)), known)
    found = {name: float(v) for name, v in problem.params(optimum.theta[0]).items()} | taken
    params = {name: found[name] for name in form.names}

    counts = draw_runs(rows, form.variables, draws, seed)
    spread = _taken_draws(taken, base, len(counts))
    columns = {name: values[:, None] for name, values in spread.items()}
    spread |= refit(
        problem,
        optimum.theta[0],
        counts[:, rows.run],
        form.known(columns, rows.variables),
    )
    spread = {name: spread[name] for name in form.names} if len(counts) else {}
    interval = intervals(spread)
    return Law(
        form=form.name,
        params=params,
        draws=spread,
        interval=interval,
        objective=float(optimum.objective[0]),
        mean_huber=float(optimum.objective[0]) / len(rows.loss),
        gradient_norm=float(optimum.gradient[0]),
        n_rows=len(rows.loss),
        n_runs=rows.n_runs,
        delta=delta,
        range=rows.range,
        warnings=about_rows(rows)
        + (about_base(rows, known, len(base.draws)) if base else ())
        + about_optimum(problem, optimum)
        + about_intervals(params, interval, form.exponents)
        + about_allocation(params, spread),
    )


def _taken_draws(taken: dict[str, float], base: Law | None, draws: int) -> dict[str, np.ndarray]:
    """One draw of the base a resample, in turn; its point where it has no draws."""
    pool = base.draws if base else {}
    return {name: np.resize(pool.get(name, value), draws) for name, value in taken.items()}
