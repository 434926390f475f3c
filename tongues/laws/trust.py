"""How far a fit can be trusted: one run left out at a time, and the largest held out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import Caution, UserError
from tongues.laws.allocation import allocate
from tongues.laws.fit import Manner, Request, fit_rows, prepare, records
from tongues.laws.forms import FORMS, Form
from tongues.laws.law import HoldOut, Law, Leverage
from tongues.laws.rows import Rows
from tongues.laws.solver import Ties, pose
from tongues.laws.uncertainty import FEWEST_RUNS, refit
from tongues.tables import Observations
from tongues.tables.checks import copies, counted, name_rows
from tongues.tables.units import other_unit

__all__ = ["fit", "fit_examined", "fit_observed", "hold_out", "leverage"]

_SHOWN = 5  # runs with the most leverage that are kept
_HELD = 0.2  # at most this share of the runs is held out, but one value at least
_FEWEST_LEFT = 3  # sizes, or points of an envelope, to fit on


def fit(
    law: str,
    loss: ArrayLike,
    runs: ArrayLike | None = None,
    *,
    base: Law | None = None,
    fix: Mapping[str, float] | None = None,
    tie: Sequence[tuple[str, str]] = (),
    delta: float = 1e-3,
    draws: int = 1000,
    seed: int = 0,
    **variables: ArrayLike,
) -> Law:
    """Fit a law to runs, with intervals, cautions, leverage and a held-out test.

    law: a name from `FORMS`, such as `chinchilla` or `cpt`.
    loss: held-out loss in nats per token, a value a row.
    runs: the run each row is a checkpoint of; runs are resampled whole. Without it each row is a
        run of its own.
    base: the law whose parameters are taken over, where the form needs one; each resample takes
        one of its draws, so that the intervals carry its uncertainty.
    fix: parameters held at a value. tie: pairs of parameters held equal.
    delta: the Huber threshold, in log loss.
    draws: bootstrap resamples for the intervals. seed: of the resampling.
    variables: the law's, by name: `N=…, D=…`.
    """
    request = Request(law, base, 0, delta, draws, seed, fix or {}, tie)
    form, rows, manner = prepare(request, variables, loss, runs)
    rows, doubts = _checked(rows, named=runs is not None)
    fitted = fit_examined(form, rows, base, manner)
    return replace(fitted, warnings=(*doubts, *fitted.warnings))


def fit_observed(
    observed: Observations, request: Request, base_rows: Rows | None = None
) -> tuple[Law, Rows]:
    """Fit a law to rows from a table or from runs; with the rows that it saw.

    base_rows: those of its base, so that the held-out test can hold them out there too.
    """
    kept = observed.without_highest(request.drop_highest)
    form, rows, manner = prepare(request, kept.variables, kept.loss, kept.units or kept.runs)
    law = fit_examined(form, rows, request.base, manner, base_rows)
    if kept.units and kept.runs:
        law = replace(law, n_runs=len(set(kept.runs)))
    return law, rows


def _checked(rows: Rows, *, named: bool) -> tuple[Rows, tuple[Caution, ...]]:
    """The rows without copies, and what looks wrong in them, as `tongues fit` does with a table.

    named: whether a row's run was given. Losses partly in bits are looked for by the command
    alone: that takes half as long as a fit.
    """
    doubts: list[Caution] = []
    columns = [*rows.variables.values(), rows.loss, *([rows.run] if named else [])]
    again = copies(zip(*(column.tolist() for column in columns), strict=True))
    if again.any():
        places = [f"row {i}" for i in range(len(again))]
        named_rows = name_rows(places, np.flatnonzero(again))
        sentence = f"{counted(int(again.sum()))} left out as copies of others: {named_rows}"
        doubts.append(Caution("duplicate_rows", sentence))
        rows = rows.take(np.flatnonzero(~again))
    unit = other_unit("loss", rows.loss)
    return rows, (*doubts, *([unit] if unit else []))


def fit_examined(
    form: Form, rows: Rows, base: Law | None, manner: Manner, base_rows: Rows | None = None
) -> Law:
    """Fit checked rows, and tell how far to trust it.

    base_rows: what the base was fitted on, so that the held-out test can hold them out there too.
    """
    fitted = fit_rows(form, rows, base, manner)
    return replace(
        fitted,
        leverage=leverage(fitted, form, rows, base, manner),
        holdout=hold_out(form, rows, base, manner, base_rows),
    )


def leverage(
    law: Law, form: Form, rows: Rows, base: Law | None, manner: Manner
) -> tuple[Leverage, ...]:
    """The runs whose absence moves the law most; empty without draws to measure by."""
    if not law.interval or rows.n_runs <= FEWEST_RUNS:
        return ()
    problem = pose(form, rows.variables, rows.loss, manner.delta, manner.ties)
    taken = {name: np.array([law.params[name]]) for name in form.taken_names if base}
    weights = (rows.run != np.arange(rows.n_runs)[:, None]).astype(float)
    if form.envelope:
        weights = records(np.where(weights > 0, rows.loss, np.inf)).astype(float)
    without = refit(problem, problem.free(law.params), weights, problem.context(taken))
    free = [name for name in without if name in law.interval]
    shift = np.stack([without[name] - law.params[name] for name in free], axis=-1)
    sizes = np.array([law.draws[name].std() for name in free])
    score = np.abs(shift / np.maximum(sizes, 1e-300)).max(-1)
    return tuple(
        Leverage(
            run=rows.runs[i],
            score=float(score[i]),
            shift=dict(zip(free, shift[i].tolist(), strict=True)),
            N_opt=_optimum_moved(law, {n: float(v[i]) for n, v in without.items()}),
        )
        for i in np.argsort(-score)[:_SHOWN]
    )


def hold_out(
    form: Form, rows: Rows, base: Law | None, manner: Manner, base_rows: Rows | None = None
) -> HoldOut | None:
    """Fit without the largest sizes (or most compute), and predict them; None when too few.

    Where `base_rows` are given, the base is fitted anew without them too.
    """
    variable = "N" if "N" in form.variables else "C"
    if variable not in form.variables:
        return None
    if form.envelope:
        rows = rows.take(np.flatnonzero(records(rows.loss)))
    values = rows.variables[variable]
    levels = np.unique(values)
    larger = [len(np.unique(rows.run[values >= level])) for level in levels]
    most = max(_HELD * rows.n_runs, larger[-1])
    cut = levels[np.flatnonzero(np.array(larger) <= most)[0]]
    small = rows.take(values < cut)
    if len(np.unique(small.variables[variable])) < _FEWEST_LEFT:
        return None
    quick = replace(manner, draws=0)
    try:
        if base and base_rows is not None:
            below = base_rows.take(base_rows.variables[variable] < cut)
            base = fit_rows(FORMS.find(base.form), below, None, replace(quick, ties=_ties_of(base)))
        law = fit_rows(form, small, base, quick)
    except UserError:  # too little is left to fit
        return None
    if small.n_runs < FEWEST_RUNS or len(small.loss) < 2 * len(law.params):
        return None
    large = rows.take(values >= cut)
    off = form.loss(law.params, large.variables) / large.loss - 1.0
    within = form.loss(law.params, small.variables) / small.loss - 1.0
    return HoldOut(
        variable=variable,
        above=float(small.variables[variable].max()),
        params=law.params,
        base_saw=base is not None and base_rows is None,
        n_rows=len(large.loss),
        n_runs=large.n_runs,
        bias=float(off.mean()),
        error=float(np.abs(off).mean()),
        error_within=float(np.abs(within).mean()),
    )


def _ties_of(law: Law) -> Ties:
    return Ties(law.fixed, law.tied)


def _optimum_moved(law: Law, params: dict[str, float]) -> float | None:
    """The factor on the compute-optimal size at the most compute of the rows."""
    here = allocate(law)
    there = allocate(Law(law.form, dict(law.params) | params))
    if here is None or there is None:
        return None
    compute = law.range["C"][1]
    return float(there.sizes(compute)[0] / here.sizes(compute)[0])
