"""The lowest loss at each compute, as a power of it."""

from tongues.laws.forms.power_terms import Exponent, PowerForm, Term

__all__ = ["POWER", "POWER_FLOOR"]

_TERMS = (Term("E"), Term("A", (Exponent("gamma", "C"),)))

POWER = PowerForm(
    name="power",
    summary="the lowest loss at each compute, without a floor",
    formula="E + A/C^gamma",
    fitted=_TERMS,
    given={"E": 0.0},
    envelope=True,
    role="compute",
    pairs=(("gamma", "A"),),
)
POWER_FLOOR = PowerForm(
    name="power-floor",
    summary="the lowest loss at each compute, with a floor",
    formula="E + A/C^gamma",
    fitted=_TERMS,
    envelope=True,
    role="compute",
    pairs=(("gamma", "E"),),
)
