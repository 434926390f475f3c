"""Loss against compute: along the best sizes a law is a power of compute, and can be inverted."""

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import UserError
from tongues.laws.fit import records
from tongues.laws.forms import Values
from tongues.laws.law import Law
from tongues.laws.rows import positive
from tongues.laws.uncertainty import bootstrap_intervals

__all__ = ["compute_at", "compute_of", "envelope", "frontier"]


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
        what = f"the {law.form} law has no compute-optimal size, so no frontier"
        raise UserError(what, where="law", code="no_interior_optimum")
    draws: dict[str, np.ndarray] = {}
    if law.draws:  # NaN where a draw has no best size, so that draws of two laws stay paired
        inside = split.interior(law.draws)
        along = split.frontier({name: values[inside] for name, values in law.draws.items()})
        draws = {name: np.full(len(inside), np.nan) for name in along}
        for name, values in along.items():
            draws[name][inside] = values
    point = {name: float(value) for name, value in split.frontier(law.params).items()}
    return Law(
        "power-floor",
        point,
        draws=draws,
        interval=bootstrap_intervals(draws, point),
        range={"C": law.range["C"]} if "C" in law.range else {},
        warnings=law.warnings,
        source=law.source,
        strategy=law.strategy,
        target=law.target,
    )


def compute_of(law: Law, loss: ArrayLike) -> np.ndarray:
    """The FLOPs at which a power law (or another law's frontier) reaches a loss; inf below E."""
    return compute_at(frontier(law).params, np.asarray(loss, dtype=float))


def compute_at(params: Values, loss: np.ndarray) -> np.ndarray:
    """The FLOPs at which `E + A/C^gamma` is a loss; inf below E."""
    above = np.maximum(loss - params["E"], 0.0)
    with np.errstate(divide="ignore"):
        return (above / params["A"]) ** (-1.0 / np.asarray(params["gamma"]))
