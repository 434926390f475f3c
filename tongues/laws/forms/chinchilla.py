"""A floor, a term of size and one of tokens: training from scratch, and continued training."""

from tongues.laws.forms.power_terms import SIGNED, Exponent, PowerForm, Term

__all__ = ["CHINCHILLA", "CPT", "EXTENDED"]

_E = Term("E")
_A = Term("A", (Exponent("alpha", "N"),))
_BETA = Exponent("beta", "D")
_JOINT = Term("B", (_BETA, Exponent("gamma", "N", low=-1.0, grid=SIGNED)))
_JOINT_FORMULA = "E + A/N^alpha + B/(D^beta N^gamma)"

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
    base="chinchilla",
    strategy="cpt",
    compared=True,
    pairs=(("gamma", "beta"),),
)
