"""The published laws: sums over size and tokens or compute."""

import numpy as np

from tongues.laws.forms.power_terms import PowerForm
from tongues.laws.forms.terms import SIGNED, Exponent, Term

_E = Term("E")
_A = Term("A", (Exponent("alpha", "N"),))
_BETA = Exponent("beta", "D")
_JOINT = Term("B", (_BETA, Exponent("gamma", "N", low=-1.0, grid=SIGNED)))
_JOINT_FORMULA = "E + A/N^alpha + B/(D^beta N^gamma)"
_OF_COMPUTE = (_E, Term("A", (Exponent("gamma", "C"),)))
_SLOW = tuple(np.geomspace(1e-3, 1.0, 12).tolist())

EXTENDED = PowerForm(
    name="extended",
    summary="the joint term of `cpt` with all six parameters fitted: does gamma differ from 0?",
    formula=_JOINT_FORMULA,
    fitted=(_E, _A, _JOINT),
    compared=True,
)
CHINCHILLA = PowerForm(
    name="chinchilla",
    summary="training from scratch, by parameters and tokens (Hoffmann et al. 2022)",
    formula="E + A/N^alpha + B/D^beta",
    fitted=(_E, _A, Term("B", (_BETA,))),
    strategy="scratch",
    compared=True,
    predicts=EXTENDED,  # a CRPS 9 % lower than its own (benchmarks/extrapolation.py)
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
)
LINE = PowerForm(
    name="line",
    summary="continued runs of one base of one size: a line over log tokens",
    formula="A/D^beta",
    fitted=(Term("A", (Exponent("beta", "D", low=1e-4, grid=_SLOW),)),),
    spread={"A": (0.0, 0.3), "beta": (float(np.log(0.08)), 0.7)},  # benchmarks/one_base.txt
    drift=2.0,  # it has no floor
    strategy="cpt",
)
POWER = PowerForm(
    name="power",
    summary="the lowest loss at each compute, without a floor",
    formula="E + A/C^gamma",
    fitted=_OF_COMPUTE,
    given={"E": 0.0},
    envelope=True,
    role="compute",
)
POWER_FLOOR = PowerForm(
    name="power-floor",
    summary="the lowest loss at each compute, with a floor",
    formula="E + A/C^gamma",
    fitted=_OF_COMPUTE,
    envelope=True,
    role="compute",
)
