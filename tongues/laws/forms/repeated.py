"""Text read several times: what repeats are worth, and what they cost a model that knows them."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from tongues.laws.forms.form import CurvedForm, Spans
from tongues.laws.forms.power_terms import CHINCHILLA
from tongues.laws.forms.terms import Exponent, Term, Values

_DECAYS = np.geomspace(0.1, 1000.0, 13)  # of the value of repeats, to start from
_EXPONENT = (0.01, 3.0)  # of size and tokens, as for all laws (`Exponent`)
# How suddenly the excess reaches its ceiling; chosen with the form, and in its formula.
_SHARP = 4.0
_UNIT = 1e9  # of parameters and tokens in the excess
_TERMS = (Term("E"), Term("A", (Exponent("alpha", "N"),)), Term("B", (Exponent("beta", "D"),)))


def _worth(unique: np.ndarray, repeats: np.ndarray, half: np.ndarray | float) -> np.ndarray:
    """What a quantity is worth when used `repeats` times more than there is of it."""
    return unique + unique * half * (1.0 - np.exp(-repeats / half))


def _data_constrained(p: Values, v: Values) -> np.ndarray:
    N, D = np.asarray(v["N"]), np.asarray(v["D"])
    unique = np.minimum(D, v["U"])
    G = (p["alpha"] * p["A"] / (p["beta"] * p["B"])) ** (1.0 / (p["alpha"] + p["beta"]))
    size = np.minimum(N, G * (G * unique) ** (p["beta"] / p["alpha"]))
    tokens = _worth(unique, D / unique - 1.0, p["R_D"])
    parameters = _worth(size, N / size - 1.0, p["R_N"])
    return p["E"] + p["A"] / parameters ** p["alpha"] + p["B"] / tokens ** p["beta"]


DATA_CONSTRAINED = CurvedForm(
    name="data-constrained",
    summary="text read several times, by unique tokens (Muennighoff et al. 2023)",
    formula="E + A/N'^alpha + B/D'^beta, D' = u + u R_D (1 − exp(−(D/u − 1)/R_D)), u = min(D, U)",
    free=("R_D", "R_N"),
    variables=("N", "D", "U"),
    curve=_data_constrained,
    spans=lambda variables, loss: dict.fromkeys(("R_D", "R_N"), (0.01, 1e4)),
    starts=lambda variables, loss: np.array(list(product(_DECAYS, _DECAYS))),
    taken_names=("E", "A", "B", "alpha", "beta"),
    base=CHINCHILLA.name,
    role="repetition",
    strategy="scratch",
    split=CHINCHILLA.split,  # while nothing repeats
)


def _spans_of_terms(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> Spans:
    spans: Spans = {"E": (1e-3 * float(loss.min()), float(loss.max()))}
    spans |= dict.fromkeys(("alpha", "beta"), _EXPONENT)
    for name, variable in (("A", "N"), ("B", "D")):
        low, high = variables[variable].min() ** _EXPONENT[0], variables[variable].max() ** 2.0
        spans[name] = 1e-6 * float(loss.min()) * low, 1e3 * float(loss.max()) * high
    return spans


def _starts_of_terms(
    variables: Mapping[str, np.ndarray], loss: np.ndarray
) -> list[tuple[float, ...]]:
    N, D = (float(np.exp(np.log(variables[name]).mean())) for name in "ND")
    least = float(loss.min())
    return [
        (floor * least, a * least * N**alpha, b * least * D**beta, alpha, beta)
        for floor, a, b, alpha, beta in product(
            (0.6, 0.85), (0.1, 0.25), (0.1, 0.25), (0.3, 0.5), (0.3, 0.5)
        )
    ]


def _overfitted(p: Values, v: Values) -> np.ndarray:
    N, D = np.asarray(v["N"]) / _UNIT, np.asarray(v["D"]) / _UNIT
    unique = np.minimum(D, np.asarray(v["U"]) / _UNIT)
    repeats = np.maximum(D / unique - 1.0, 1e-9)
    able = 1.0 / (1.0 / N + p["k"] / D)
    h = p["G"] * able ** p["a"] * repeats ** p["c"] / unique ** p["b"]
    excess = p["M"] * h / (1.0 + h**_SHARP) ** (1.0 / _SHARP)
    return p["E"] + p["A"] / v["N"] ** p["alpha"] + p["B"] / v["D"] ** p["beta"] + excess


OVERFITTED = CurvedForm(
    name="overfitted",
    summary="text read so often that the loss rises again: what larger models learn by heart",
    formula="E + A/N^alpha + B/D^beta + M h/(1 + h^4)^(1/4), h = G n^a (D/u − 1)^c/u^b, "
    "1/n = 1/N + k/D, u = min(D, U); N, D, u of h in 1e9",
    free=("E", "A", "B", "alpha", "beta", "M", "G", "a", "b", "c", "k"),
    variables=("N", "D", "U"),
    curve=_overfitted,
    spans=lambda variables, loss: (
        _spans_of_terms(variables, loss)
        | {"M": (0.1, 100.0), "G": (1e-6, 10.0), "k": (1e-3, 100.0)}
        | dict.fromkeys("abc", (0.05, 6.0))
    ),
    starts=lambda variables, loss: np.array(
        [
            # of the published runs (Muennighoff et al. 2023), then less and more
            (*one, 8.0, 0.0075 * times, 1.7, 1.3, 0.4 * times, 7.0)
            for one in _starts_of_terms(variables, loss)
            for times in (0.7, 1.4)
        ]
    ),
    terms=_TERMS,
    spread={
        "M": (float(np.log(8.0)), 0.4),
        "G": (float(np.log(0.0075)), 1.0),
        "a": (float(np.log(1.7)), 0.5),
        "b": (float(np.log(1.3)), 0.5),
        "c": (float(np.log(0.4)), 0.5),
        "k": (float(np.log(7.0)), 0.7),
    },
    strategy="scratch",
)
