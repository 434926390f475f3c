"""Continued training that starts where its base is: at no tokens the loss is the base's own."""

import math
from collections.abc import Mapping
from itertools import product

import numpy as np

from tongues.laws.forms.form import CurvedForm, Spans, Term, Values

# The root mean square over six cases, four languages of `benchmarks/one_base.py` and two of the
# real case; seven others test it.
_STRAY = 0.33
# Of D_0 in the runs' middle length, and of beta; from 0.3 to 1 and from 0.3 to 0.5 differ little
# (docs/log.md, 2026-11-26). Without it D_0 followed the fit, which runs of one base leave open.
_SPREAD = {"beta": (math.log(0.3), 0.5), "D_0": (math.log(0.5), 0.7)}


def _one_base(p: Values, v: Values) -> np.ndarray:
    D, S = (np.asarray(v[name]) for name in "DS")
    return p["F"] + (S - p["F"]) * (1.0 + D / p["D_0"]) ** -p["beta"]


def _one_base_spans(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> Spans:
    D = variables["D"][variables["D"] > 0]
    least = min(float(loss.min()), float(variables["S"].min()))
    return {
        "F": (0.01 * least, 0.99 * least),
        "D_0": (1e-4 * float(D.min()), 1e2 * float(D.max())),
        "beta": (0.01, 3.0),
    }


def _one_base_starts(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> np.ndarray:
    D = variables["D"][variables["D"] > 0]
    grid = product((0.1, 0.4, 0.8), (0.03, 0.3, 3.0), (0.1, 0.3, 0.8))
    return np.array(
        [(share * float(loss.min()), D_0 * float(D.min()), beta) for share, D_0, beta in grid]
    )


ONE_BASE = CurvedForm(
    name="one-base",
    summary="continued training of one base of one size, from its own loss on the target, S",
    formula="F + (S - F) (1 + D/D_0)^-beta",
    free=("F", "D_0", "beta"),
    variables=("D", "S"),
    curve=_one_base,
    spans=_one_base_spans,
    starts=_one_base_starts,
    terms=(Term("F"),),
    spread=_SPREAD,
    amounts={"D_0": "D"},
    stray=_STRAY,
    strategy="cpt",
    pairs=(("F", "beta"),),
)


def _experts(p: Values, v: Values) -> np.ndarray:
    worth = np.asarray(v["D"]) * p["G"] ** np.log2(v["k"])
    return _one_base(p, {"D": worth, "S": np.asarray(v["S"])})


def _experts_starts(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> np.ndarray:
    grid = product(_one_base_starts(variables, loss).tolist(), (0.6, 1.0, 1.6))
    return np.array([(*start, G) for start, G in grid])


EXPERTS = CurvedForm(
    name="experts",
    summary="k experts of one base that share D tokens, each with languages of its own",
    formula="F + (S - F) (1 + D G^log2(k)/D_0)^-beta",
    free=("F", "D_0", "beta", "G"),
    variables=("D", "S", "k"),
    curve=_experts,
    spans=lambda variables, loss: _one_base_spans(variables, loss) | {"G": (0.05, 20.0)},
    starts=_experts_starts,
    terms=(Term("F"),),
    spread=_SPREAD | {"G": (0.0, 0.5)},
    amounts={"D_0": "D"},
    strategy="cpt",
    pairs=(("G", "beta"),),
)
