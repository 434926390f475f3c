"""The law of Kaplan et al. 2020: loss falls towards no floor, in size and tokens together."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from tongues.laws.forms.form import CurvedForm, Spans, Values

__all__ = ["KAPLAN"]


def _loss(p: Values, v: Values) -> np.ndarray:
    of_size = (p["N_c"] / v["N"]) ** (p["alpha_N"] / p["alpha_D"])
    return (of_size + p["D_c"] / v["D"]) ** p["alpha_D"]


def _spans(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> Spans:
    exponent = (0.005, 3.0)
    far = 1e60
    return {
        "N_c": (variables["N"].min() / far, variables["N"].max() * far),
        "D_c": (variables["D"].min() / far, variables["D"].max() * far),
        "alpha_N": exponent,
        "alpha_D": exponent,
    }


def _starts(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> np.ndarray:
    """Sizes and tokens alone would give, at the middle of the rows, some share of the log loss."""
    middle = {name: np.exp(np.log(values).mean()) for name, values in variables.items()}
    level = np.log(loss).mean()
    exponents = np.geomspace(0.02, 1.0, 7)
    shares = level - np.array([0.02, 0.2, 0.5, 1.0, 2.0])
    return np.array(
        [
            (middle["N"] * np.exp(u / of_N), middle["D"] * np.exp(w / of_D), of_N, of_D)
            for of_N, of_D, u, w in product(exponents, exponents, shares, shares)
        ]
    )


KAPLAN = CurvedForm(
    name="kaplan",
    summary="for comparison: no floor, size and tokens together (Kaplan et al. 2020)",
    formula="[(N_c/N)^(alpha_N/alpha_D) + D_c/D]^alpha_D",
    free=("N_c", "D_c", "alpha_N", "alpha_D"),
    variables=("N", "D"),
    curve=_loss,
    spans=_spans,
    starts=_starts,
    compared=True,
    pairs=(("alpha_N", "alpha_D"),),
)
