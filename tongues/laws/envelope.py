"""Loss against compute: the lower envelope of many runs and the power law along it."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import UserError
from tongues.laws.cautions import Caution, about_intervals, about_optimum, about_rows
from tongues.laws.fit import check_settings
from tongues.laws.forms import POWER, POWER_ABOVE, Values
from tongues.laws.rows import positive, read_rows
from tongues.laws.solve import pose, solve
from tongues.laws.uncertainty import draw_runs, intervals, percentiles, refit, upright

__all__ = ["Power", "envelope", "fit_power", "implied_saving", "implied_saving_interval"]


@dataclass(frozen=True, slots=True, eq=False)
class Power:
    """The lowest loss that `C` FLOPs reach, L = E + A/C^g, in nats per token.

    `params`, `draws` and `interval` are by name, of `E A g`; `n_rows` and `n_runs` are the points
    and runs on the envelope; `range` is that of its C and loss.
    """

    params: dict[str, float]
    draws: dict[str, np.ndarray] = field(default_factory=dict)
    interval: dict[str, tuple[float, float]] = field(default_factory=dict)
    mean_huber: float = float("nan")
    n_rows: int = 0
    n_runs: int = 0
    range: dict[str, tuple[float, float]] = field(default_factory=dict)
    warnings: tuple[Caution, ...] = ()

    def loss(self, C: ArrayLike) -> np.ndarray:
        """The lowest loss that C FLOPs reach."""
        return POWER.loss(self.params, {"C": np.asarray(C, dtype=float)})

    def loss_interval(self, C: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Its 95 % interval; the power law must have draws."""
        compute = np.asarray(C, dtype=float)
        return percentiles(POWER.loss(upright(self.draws, compute.ndim), {"C": compute}))

    def compute(self, loss: ArrayLike) -> np.ndarray:
        """The FLOPs that reach a loss; infinite at or below E."""
        return _compute(self.params, np.asarray(loss, dtype=float))


def envelope(C: ArrayLike, loss: ArrayLike) -> np.ndarray:
    """Indices of the points no cheaper point beats, in order of compute."""
    compute, losses = positive("C", C), positive("loss", loss)
    order = np.lexsort((losses, compute))
    return order[_records(losses[order])]


def fit_power(
    C: ArrayLike,
    loss: ArrayLike,
    runs: ArrayLike | None = None,
    *,
    E: float | None = 0.0,
    delta: float = 1e-3,
    draws: int = 1000,
    seed: int = 0,
) -> Power:
    """Fit L = E + A/C^g along the lower envelope of all points.

    Each resample draws runs, and takes the envelope of those it drew.

    C: training FLOPs of each row.
    loss: held-out loss in nats per token.
    runs: the run each row is a checkpoint of; without it each row is a run.
    E: the loss no compute goes below, nats per token; None fits it.
    delta, draws, seed: as for `fit_scratch`.
    """
    check_settings(delta, draws)
    form = POWER_ABOVE if E is None else POWER
    rows = read_rows(form, {"C": C}, loss, runs)
    rows = rows.take(np.lexsort((rows.loss, rows.variables["C"])))
    if E is not None and not 0 <= E < rows.loss.min():
        raise UserError(f"E must lie between 0 and the lowest loss, not be {E:g}", where="E")
    on = _records(rows.loss)
    if on.sum() <= len(form.free):
        raise UserError(
            f"only {on.sum()} points lie on the envelope, too few for a power law",
            where="loss",
            hint="add runs with more compute, or leave out runs whose loss rises",
        )
    best = rows.take(np.flatnonzero(on))
    taken = {} if E is None else {"E": E}
    known = form.known(taken, rows.variables)
    problem = pose(form, rows.variables, rows.loss, delta)
    optimum = solve(problem, on.astype(float), known)
    found = problem.params(optimum.theta[0]) | taken

    counts = draw_runs(rows, form.variables, draws, seed)[:, rows.run]
    weights = _records(np.where(counts > 0, rows.loss, np.inf)).astype(float)
    refitted = refit(problem, optimum.theta[0], weights, known)
    spread = refitted | {name: np.full(len(counts), value) for name, value in taken.items()}
    params = {name: float(found[name]) for name in form.names}
    interval = intervals(refitted)
    return Power(
        params=params,
        draws={name: spread[name] for name in form.names} if len(counts) else {},
        interval=interval,
        mean_huber=float(optimum.objective[0]) / len(best.loss),
        n_rows=len(best.loss),
        n_runs=best.n_runs,
        range=best.range,
        warnings=about_rows(best)
        + about_optimum(problem, optimum)
        + about_intervals(params, interval, form.exponents),
    )


def implied_saving(scratch: Power, cpt: Power, C: ArrayLike) -> np.ndarray:
    """The share of `C` FLOPs of training from scratch that `cpt` saves at the same loss.

    Found by inverting the laws; negative where continued training costs more, minus infinity where
    it never gets there.
    """
    return _saving(scratch.params, cpt.params, np.asarray(C, dtype=float))


def implied_saving_interval(
    scratch: Power, cpt: Power, C: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Its 95 % interval, from the draws of both laws."""
    compute = np.asarray(C, dtype=float)
    first, second = (upright(law.draws, compute.ndim) for law in (scratch, cpt))
    count = min(len(first["A"]), len(second["A"]))
    first, second = (
        {name: values[:count] for name, values in draws.items()} for draws in (first, second)
    )
    return percentiles(_saving(first, second, compute))


def _records(loss: np.ndarray) -> np.ndarray:
    """Which of the points, in order of compute, lie below all before them (last axis)."""
    before = np.minimum.accumulate(loss, axis=-1)[..., :-1]
    first = np.full((*loss.shape[:-1], 1), np.inf)
    return loss < np.concatenate([first, before], axis=-1)


def _compute(params: Values, loss: np.ndarray) -> np.ndarray:
    above = np.maximum(loss - params["E"], 0.0)
    with np.errstate(divide="ignore"):
        return (above / params["A"]) ** (-1.0 / params["g"])


def _saving(scratch: Values, cpt: Values, C: np.ndarray) -> np.ndarray:
    return 1.0 - _compute(cpt, POWER.loss(scratch, {"C": C})) / C
