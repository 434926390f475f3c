"""Text that is read several times: `chinchilla` with a repeated token worth less and less."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from tongues.laws.forms.form import CurvedForm, Spans, Values
from tongues.laws.forms.sums import CHINCHILLA

__all__ = ["DATA_CONSTRAINED"]


def _worth(unique: np.ndarray, repeats: np.ndarray, half: np.ndarray | float) -> np.ndarray:
    """What a quantity is worth when used `repeats` times more than there is of it."""
    return unique + unique * half * (1.0 - np.exp(-repeats / half))


def _loss(p: Values, v: Values) -> np.ndarray:
    N, D = np.asarray(v["N"]), np.asarray(v["D"])
    unique = np.minimum(D, v["U"])
    G = (p["alpha"] * p["A"] / (p["beta"] * p["B"])) ** (1.0 / (p["alpha"] + p["beta"]))
    size = np.minimum(N, G * (G * unique) ** (p["beta"] / p["alpha"]))
    tokens = _worth(unique, D / unique - 1.0, p["R_D"])
    parameters = _worth(size, N / size - 1.0, p["R_N"])
    return p["E"] + p["A"] / parameters ** p["alpha"] + p["B"] / tokens ** p["beta"]


def _spans(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> Spans:
    return {"R_D": (0.01, 1e4), "R_N": (0.01, 1e4)}


def _starts(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> np.ndarray:
    grid = np.geomspace(0.1, 1000.0, 13)
    return np.array(list(product(grid, grid)))


DATA_CONSTRAINED = CurvedForm(
    name="data-constrained",
    summary="text read several times, by unique tokens (Muennighoff et al. 2023)",
    formula="E + A/N'^alpha + B/D'^beta, D' = u + u R_D (1 − exp(−(D/u − 1)/R_D)), u = min(D, U)",
    free=("R_D", "R_N"),
    variables=("N", "D", "U"),
    curve=_loss,
    spans=_spans,
    starts=_starts,
    taken_names=("E", "A", "B", "alpha", "beta"),
    base=CHINCHILLA.name,
    role="repetition",
    strategy="scratch",
    pairs=(("R_D", "R_N"),),
    split=CHINCHILLA.split,  # while nothing repeats
)
