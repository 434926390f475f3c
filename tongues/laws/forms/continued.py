"""Continued training that starts where its base is: at no tokens the loss is the base's own."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from tongues.laws.forms.form import CurvedForm, Spans, Values
from tongues.laws.forms.published import CHINCHILLA

__all__ = ["CPT_START"]

_LEAST = 1e-6  # nats by which a base is above what its size allows, at least


def _cpt_start(p: Values, v: Values) -> np.ndarray:
    N, D, S = (np.asarray(v[name]) for name in ("N", "D", "S"))
    floor = p["E"] + p["A"] / N ** p["alpha"]
    scale = p["B"] / N ** p["gamma"]
    above = np.where(np.real(S - floor) > _LEAST, S - floor, _LEAST)
    start = (above / scale) ** (-1.0 / p["beta"])
    return floor + scale * (D + start) ** -p["beta"]


def _spans(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> Spans:
    most = float(loss.max())
    return {"B": (1e-9 * most, 1e15 * most), "beta": (0.01, 3.0), "gamma": (1e-3, 1.0)}


def _starts(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> np.ndarray:
    N, D = (np.exp(np.log(variables[name][variables[name] > 0]).mean()) for name in "ND")
    return np.array(
        [
            (share * float(loss.min()) * D**beta * N**gamma, beta, gamma)
            for share, beta, gamma in product(
                (0.1, 0.3, 0.8), (0.1, 0.2, 0.3, 0.5, 0.8), (0.01, 0.1, 0.3)
            )
        ]
    )


CPT_START = CurvedForm(
    name="cpt-start",
    summary="continued training from the base's own loss on the target, S",
    formula="E + A/N^alpha + B/(N^gamma (D + D_0)^beta), D_0 so that it is S at D = 0",
    free=("B", "beta", "gamma"),
    variables=("N", "D", "S"),
    curve=_cpt_start,
    spans=_spans,
    starts=_starts,
    taken_names=("E", "A", "alpha"),
    base=CHINCHILLA.name,
    strategy="cpt",
    pairs=(("gamma", "beta"),),
)
