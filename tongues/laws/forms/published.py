"""The published laws: sums over size and tokens or compute, and one without a floor."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from tongues.laws.forms.form import SIGNED, CurvedForm, Exponent, Spans, Term, Values
from tongues.laws.forms.power_terms import PowerForm

__all__ = ["CHINCHILLA", "CPT", "EXTENDED", "FAMILY", "KAPLAN", "POWER", "POWER_FLOOR"]

_E = Term("E")
_A = Term("A", (Exponent("alpha", "N"),))
_BETA = Exponent("beta", "D")
_JOINT = Term("B", (_BETA, Exponent("gamma", "N", low=-1.0, grid=SIGNED)))
_JOINT_FORMULA = "E + A/N^alpha + B/(D^beta N^gamma)"
_OF_COMPUTE = (_E, Term("A", (Exponent("gamma", "C"),)))

CHINCHILLA = PowerForm(
    name="chinchilla",
    summary="training from scratch, by parameters and tokens (Hoffmann et al. 2022)",
    formula="E + A/N^alpha + B/D^beta",
    fitted=(_E, _A, Term("B", (_BETA,))),
    strategy="scratch",
    compared=True,
    pairs=(("alpha", "beta"), ("alpha", "E")),
)
EXTENDED = PowerForm(
    name="extended",
    summary="the joint term of `cpt` with all six parameters fitted: does gamma differ from 0?",
    formula=_JOINT_FORMULA,
    fitted=(_E, _A, _JOINT),
    compared=True,
    pairs=(("alpha", "beta"), ("alpha", "E"), ("gamma", "beta")),
)
CPT = PowerForm(
    name="cpt",
    summary="continued training: E, A and alpha of the law from scratch (Zheng et al. 2024)",
    formula=_JOINT_FORMULA,
    fitted=(_JOINT,),
    taken=(_E, _A),
    base=CHINCHILLA.name,
    strategy="cpt",
    compared=True,
    pairs=(("gamma", "beta"),),
)
_SHARE = Exponent("gamma", "h", low=1e-3, grid=tuple(np.geomspace(5e-3, 0.5, 12).tolist()))
FAMILY = PowerForm(
    name="family",
    summary="runs of one length on mixtures, by a language's own share (He et al. 2024)",
    formula="(E + A/N^alpha)/h^gamma",
    fitted=(Term("E", (_SHARE,)), Term("A", (Exponent("alpha", "N"), _SHARE))),
    strategy="scratch",
    pairs=(("gamma", "alpha"),),
)
POWER = PowerForm(
    name="power",
    summary="the lowest loss at each compute, without a floor",
    formula="E + A/C^gamma",
    fitted=_OF_COMPUTE,
    given={"E": 0.0},
    envelope=True,
    role="compute",
    pairs=(("gamma", "A"),),
)
POWER_FLOOR = PowerForm(
    name="power-floor",
    summary="the lowest loss at each compute, with a floor",
    formula="E + A/C^gamma",
    fitted=_OF_COMPUTE,
    envelope=True,
    role="compute",
    pairs=(("gamma", "E"),),
)


def _kaplan(p: Values, v: Values) -> np.ndarray:
    of_size = (p["N_c"] / v["N"]) ** (p["alpha_N"] / p["alpha_D"])
    return (of_size + p["D_c"] / v["D"]) ** p["alpha_D"]


def _kaplan_spans(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> Spans:
    exponent = (0.005, 3.0)
    far = 1e60
    return {
        "N_c": (variables["N"].min() / far, variables["N"].max() * far),
        "D_c": (variables["D"].min() / far, variables["D"].max() * far),
        "alpha_N": exponent,
        "alpha_D": exponent,
    }


def _kaplan_starts(variables: Mapping[str, np.ndarray], loss: np.ndarray) -> np.ndarray:
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
    curve=_kaplan,
    spans=_kaplan_spans,
    starts=_kaplan_starts,
    compared=True,
    pairs=(("alpha_N", "alpha_D"),),
)
