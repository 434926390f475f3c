"""A law form: two powers above a floor, with names of its own for the parameters."""

from tongues.laws.forms import Exponent, PowerForm, Term

__all__ = ["TWO_POWERS"]

TWO_POWERS = PowerForm(
    name="two-powers",
    summary="two powers above a floor, from another package",
    formula="L0 + a/N^x + b/D^y",
    fitted=(
        Term("L0"),
        Term("a", (Exponent("x", "N"),)),
        Term("b", (Exponent("y", "D"),)),
    ),
    strategy="scratch",
    compared=True,
)
