"""Loss against compute: along the best sizes a law is a power of compute, and can be inverted."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import Caution, UserError
from tongues.laws.fit import records
from tongues.laws.forms import Split, Values
from tongues.laws.law import Law
from tongues.laws.rows import positive
from tongues.laws.uncertainty import intervals, percentiles, upright

__all__ = [
    "about_saving",
    "compute_of",
    "envelope",
    "frontier",
    "implied_saving",
    "implied_saving_interval",
]


def envelope(C: ArrayLike, loss: ArrayLike) -> np.ndarray:
    """Indices of the points no cheaper point beats, in order of compute."""
    compute, losses = positive("C", C), positive("loss", loss)
    order = np.lexsort((losses, compute))
    return order[records(losses[order])]


def frontier(law: Law) -> Law:
    """The lowest loss that C = 6 N D FLOPs reach under a law, as a power law with draws.

    Both the size and the token term fall as the same power of C along the best sizes, so it is
    exact. A power law is its own frontier.
    """
    if law.equation.role == "compute":
        return law
    split = law.equation.split
    if split is None or not split.interior(law.params):
        raise UserError(
            f"the {law.form} law has no compute-optimal size, so no frontier",
            where="law",
            code="no_interior_optimum",
        )
    draws = _draws_along(split, law.draws) if law.draws else {}
    point = {name: float(value) for name, value in split.frontier(law.params).items()}
    return Law(
        "power-floor",
        point,
        draws=draws,
        interval=intervals(draws, point),
        range={"C": law.range["C"]} if "C" in law.range else {},
        warnings=law.warnings,
        source=law.source,
        strategy=law.strategy,
        target=law.target,
    )


def compute_of(law: Law, loss: ArrayLike) -> np.ndarray:
    """The FLOPs at which a power law (or another law's frontier) reaches a loss; inf below E."""
    return _compute(frontier(law).params, np.asarray(loss, dtype=float))


def implied_saving(scratch: Law, cpt: Law, C: ArrayLike) -> np.ndarray:
    """The share of `C` FLOPs of training from scratch that `cpt` saves at the same loss.

    Found by inverting the laws' frontiers; negative where continued training costs more, minus
    infinity where it never gets there.
    """
    return _saving(frontier(scratch).params, frontier(cpt).params, np.asarray(C, dtype=float))


def implied_saving_interval(scratch: Law, cpt: Law, C: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Its 95 % interval, from the draws of both laws."""
    compute = np.asarray(C, dtype=float)
    first, second = (upright(frontier(law).draws, compute.ndim) for law in (scratch, cpt))
    count = min(len(first["A"]), len(second["A"]))
    first, second = (
        {name: values[:count] for name, values in draws.items()} for draws in (first, second)
    )
    return percentiles(_saving(first, second, compute))


def about_saving(scratch: Law, cpt: Law, C: ArrayLike) -> tuple[Caution, ...]:
    """A caution where the laws say that continued training costs more."""
    compute = np.atleast_1d(np.asarray(C, dtype=float))
    saved = implied_saving(scratch, cpt, compute)
    if not (saved < 0).any():
        return ()
    at = compute[saved < 0]
    where = f"{at[0]:.3g}" if len(at) == 1 else f"{at.min():.3g} to {at.max():.3g}"
    return (
        Caution(
            "negative_saving",
            f"at {where} FLOPs these laws make continued training cost more than training from "
            f"scratch (a saving of {saved.min():.0%})",
        ),
    )


def _draws_along(split: Split, draws: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """NaN where a draw has no best size, so that draws of two laws stay paired."""
    inside = split.interior(draws)
    along = split.frontier({name: values[inside] for name, values in draws.items()})
    padded = {name: np.full(len(inside), np.nan) for name in along}
    for name, values in along.items():
        padded[name][inside] = values
    return padded


def _compute(params: Values, loss: np.ndarray) -> np.ndarray:
    above = np.maximum(loss - params["E"], 0.0)
    with np.errstate(divide="ignore"):
        return (above / params["A"]) ** (-1.0 / np.asarray(params["gamma"]))


def _saving(scratch: Values, cpt: Values, C: np.ndarray) -> np.ndarray:
    loss = scratch["E"] + scratch["A"] * C ** -np.asarray(scratch["gamma"])
    return 1.0 - _compute(cpt, loss) / C
