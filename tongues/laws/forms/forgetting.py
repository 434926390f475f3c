"""The law of forgetting: the source language's loss while a model learns another.

A model holds a running average of all it was trained on, where its past counts as F tokens of
source text: after D tokens with a share r of replay, the source has the share
rho = (F + r D)/(F + D) of it. The loss is that of more training on the source, plus what a smaller
share costs: A nats for each factor e, and more the less is left.
"""

from collections.abc import Mapping
from itertools import product

import numpy as np

from tongues.laws.forms.form import CurvedForm, Spans
from tongues.laws.forms.terms import Values

_BETA = 0.095  # of Kaplan et al. 2020, whose loss too falls towards no floor


def _going_on(p: Values, D: np.ndarray, S: np.ndarray) -> np.ndarray:
    """The loss under source text alone: the re-warmed rate costs W at once, then it is learned."""
    return (S + p["W"] * D / (p["F"] + D)) * (1.0 + D / p["B"]) ** -p["beta"]


def _forgetting(p: Values, v: Values) -> np.ndarray:
    D, r = np.asarray(v["D"]), np.asarray(v["r"])
    left = (p["F"] + r * D) / (p["F"] + D)
    cost = p["A"] * (left ** -p["kappa"] - 1.0) / p["kappa"]
    return _going_on(p, D, np.asarray(v["S"])) + cost


def _spans(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> Spans:
    most = variables["D"].max()
    return {
        "F": (1e-8 * most, 10.0 * most),
        "A": (1e-4, 100.0),
        "kappa": (1e-3, 3.0),
        "W": (1e-4, float(loss.max())),
        "B": (1e-3 * most, 1e3 * most),
        "beta": (0.01, 3.0),
    }


def _starts(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> np.ndarray:
    most = variables["D"].max()
    axes = (
        (1e-4 * most, 1e-3 * most, 0.01 * most, 0.1 * most),
        (0.1, 0.3, 1.0),
        (0.05, 0.3),
        (0.01, 0.1, 0.4),
        (0.03 * most, 0.3 * most, 3.0 * most),
        (_BETA,),
    )
    return np.array(list(product(*axes)))


FORGETTING = CurvedForm(
    name="forgetting",
    summary="the source language's loss under replay while another is learned",
    formula="(S + W D/(F + D)) (1 + D/B)^(−beta) + A (rho^(−kappa) − 1)/kappa, "
    "rho = (F + r D)/(F + D)",
    free=("F", "A", "kappa", "W", "B", "beta"),
    variables=("D", "r", "S"),
    curve=_forgetting,
    spans=_spans,
    starts=_starts,
    given={"beta": _BETA},
    role="forgetting",
    strategy="cpt",
)
