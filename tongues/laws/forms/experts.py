"""Experts of one base: at no tokens the loss is the base's own, and it falls towards a floor."""

import math
from collections.abc import Mapping
from itertools import product

import numpy as np

from tongues.laws.forms.form import CurvedForm, Spans
from tongues.laws.forms.terms import Term, Values

# Of beta, of D_0 in the runs' middle length, and of G (docs/log.md, 2026-11-26).
_SPREAD = {"beta": (math.log(0.3), 0.5), "D_0": (math.log(0.5), 0.7), "G": (0.0, 0.5)}


def _curve(p: Values, v: Values) -> np.ndarray:
    D, S = np.asarray(v["D"]) * p["G"] ** np.log2(v["k"]), np.asarray(v["S"])
    return p["F"] + (S - p["F"]) * (1.0 + D / p["D_0"]) ** -p["beta"]


def _spans(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> Spans:
    D = variables["D"][variables["D"] > 0]
    least = min(float(loss.min()), float(variables["S"].min()))
    return {
        "F": (0.01 * least, 0.99 * least),
        "D_0": (1e-4 * float(D.min()), 1e2 * float(D.max())),
        "beta": (0.01, 3.0),
        "G": (0.05, 20.0),
    }


def _starts(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> np.ndarray:
    D, least = float(variables["D"][variables["D"] > 0].min()), float(loss.min())
    grid = product((0.1, 0.4, 0.8), (0.03, 0.3, 3.0), (0.1, 0.3, 0.8), (0.6, 1.0, 1.6))
    return np.array([(share * least, D_0 * D, beta, G) for share, D_0, beta, G in grid])


EXPERTS = CurvedForm(
    name="experts",
    summary="k experts of one base that share D tokens, each with languages of its own",
    formula="F + (S - F) (1 + D G^log2(k)/D_0)^-beta",
    free=("F", "D_0", "beta", "G"),
    variables=("D", "S", "k"),
    curve=_curve,
    spans=_spans,
    starts=_starts,
    terms=(Term("F"),),
    spread=_SPREAD,
    amounts={"D_0": "D"},
    strategy="cpt",
)
