"""Laws turned round: the compute, tokens or size for a loss."""

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import UserError
from tongues.laws.fit import records
from tongues.laws.forms import FORMS, Inverse, Values
from tongues.laws.law import Law
from tongues.laws.rows import positive
from tongues.laws.uncertainty import bootstrap_intervals


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
    return _compute_at(frontier(law).params, np.asarray(loss, dtype=float))


def _compute_at(params: Values, loss: np.ndarray) -> np.ndarray:
    """The FLOPs at which `E + A/C^gamma` is a loss; inf below E."""
    above = np.maximum(loss - params["E"], 0.0)
    with np.errstate(divide="ignore"):
        return (above / params["A"]) ** (-1.0 / np.asarray(params["gamma"]))


def tokens_for(law: Law, N: ArrayLike, loss: ArrayLike) -> np.ndarray:
    """Tokens after which a law of N and D promises a loss at size N; inf where never."""
    return _inverse(law).tokens(law.params, np.asarray(N, float), np.asarray(loss, float))


def params_for(law: Law, D: ArrayLike, loss: ArrayLike) -> np.ndarray:
    """The smallest model for which a law of N and D promises a loss after D tokens; inf if none."""
    return _inverse(law).parameters(law.params, np.asarray(D, float), np.asarray(loss, float))


def _inverse(law: Law) -> Inverse:
    inverse = law.equation.inverse
    if inverse is None:
        able = ", ".join(form.name for form in FORMS if form.inverse)
        what = f"the {law.form} law is not inverted for tokens or parameters"
        raise UserError(what, where="law", hint=f"give one of {able}")
    return inverse
