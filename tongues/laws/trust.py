"""How far a fit can be trusted: one run left out at a time, and the largest held out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import Caution, UserError
from tongues.laws.allocation import allocate
from tongues.laws.fit import FitRequest, FitTask, prepare, records
from tongues.laws.forms import FORMS
from tongues.laws.law import HoldOut, Law, Leverage
from tongues.laws.rows import Rows
from tongues.laws.solver import Ties
from tongues.laws.uncertainty import FEWEST_RUNS, refit
from tongues.tables import Observations
from tongues.tables.checks import copies, counted, name_rows
from tongues.tables.units import other_unit

__all__ = ["fit", "fit_observed"]

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

    Rows that are copies of others are left out, as `tongues fit` does with a table.

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
    task = prepare(
        FitRequest(law, base, 0, delta, draws, seed, fix or {}, tie), variables, loss, runs
    )
    rows, doubts = task.rows, list[Caution]()
    columns = [*rows.variables.values(), rows.loss, *([rows.run] if runs is not None else [])]
    again = copies(zip(*(column.tolist() for column in columns), strict=True))
    if again.any():
        named = name_rows([f"row {i}" for i in range(len(again))], np.flatnonzero(again))
        what = f"{counted(int(again.sum()))} left out as copies of others: {named}"
        doubts.append(Caution("duplicate_rows", what))
        task = replace(task, rows=rows.take(np.flatnonzero(~again)))
    if unit := other_unit("loss", task.rows.loss):
        doubts.append(unit)
    fitted = _examined(task)
    return replace(fitted, warnings=(*doubts, *fitted.warnings))


def fit_observed(
    observed: Observations, request: FitRequest, base_rows: Rows | None = None
) -> tuple[Law, Rows]:
    """Fit a law to rows from a table or from runs; with the rows that it saw.

    base_rows: those of its base, so that the held-out test can hold them out there too.
    """
    kept = observed.without_highest(request.drop_highest)
    task = prepare(request, kept.variables, kept.loss, kept.units or kept.runs)
    law = _examined(task, base_rows)
    if kept.units and kept.runs:
        law = replace(law, n_runs=len(set(kept.runs)))
    return law, task.rows


def _examined(task: FitTask, base_rows: Rows | None = None) -> Law:
    law = task.fit()
    return replace(law, leverage=_leverage(task, law), holdout=_hold_out(task, base_rows))


def _leverage(task: FitTask, law: Law) -> tuple[Leverage, ...]:
    """The runs whose absence moves the law most; empty without draws to measure by."""
    rows, best = task.rows, allocate(law)
    if not law.interval or rows.n_runs <= FEWEST_RUNS:
        return ()
    problem, weights = task.pose(), task.weights(1.0 - np.eye(rows.n_runs))
    without = refit(problem, problem.free(law.params), weights, problem.context(task.taken))
    free = [name for name in without if name in law.interval]
    shift = np.stack([without[name] - law.params[name] for name in free], axis=-1)
    sizes = np.array([law.draws[name].std() for name in free])
    score = np.abs(shift / np.maximum(sizes, 1e-300)).max(-1)

    def moved(run: int) -> float | None:
        """The factor on the compute-optimal size at the most compute of the rows."""
        params = law.params | {name: float(values[run]) for name, values in without.items()}
        there = allocate(Law(law.form, params))
        if best is None or there is None:
            return None
        compute = law.range["C"][1]
        return float(there.sizes(compute)[0] / best.sizes(compute)[0])

    return tuple(
        Leverage(
            rows.runs[i], float(score[i]), dict(zip(free, shift[i].tolist(), strict=True)), moved(i)
        )
        for i in np.argsort(-score)[:_SHOWN].tolist()
    )


def _hold_out(task: FitTask, base_rows: Rows | None) -> HoldOut | None:
    """Fit without the largest sizes (or most compute), and predict them; None when too few.

    Where `base_rows` are given, the base is fitted again without them too.
    """
    form, rows, base = task.form, task.rows, task.base
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
    small, large = rows.take(values < cut), rows.take(values >= cut)
    if len(np.unique(small.variables[variable])) < _FEWEST_LEFT:
        return None
    try:
        if base and base_rows is not None:
            below = base_rows.take(base_rows.variables[variable] < cut)
            ties, of_base = Ties(base.fixed, base.tied), FORMS.find(base.form)
            base = replace(task, form=of_base, rows=below, base=None, draws=0, ties=ties).fit()
        law = replace(task, rows=small, base=base, draws=0).fit()
    except UserError:  # too little is left to fit
        return None
    if small.n_runs < FEWEST_RUNS or len(small.loss) < 2 * len(law.params):
        return None
    off, within = (form.loss(law.params, r.variables) / r.loss - 1.0 for r in (large, small))
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
