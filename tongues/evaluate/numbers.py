"""How an evaluation's numbers are written: bits per byte, shares and points."""

from collections.abc import Callable

from tongues.estimate import Estimate
from tongues.significance import Chance, in_words

__all__ = ["BITS", "POINTS", "Show", "Unit", "bits", "guessed", "hundredths", "said", "share_said"]

Show = Callable[[float], str]
Unit = tuple[Show, str]  # how a difference is written, and in what


def bits(value: float) -> str:
    """Bits per byte, to a thousandth."""
    return f"{value:.3f}"


def hundredths(value: float) -> str:
    """A share in hundredths."""
    return f"{100 * value:.1f}"


def share_said(value: float) -> str:
    """A share with its sign."""
    return f"{hundredths(value)} %"


BITS: Unit = (bits, "bits per byte")
POINTS: Unit = (hundredths, "points")


def said(of: Estimate, unit: Unit) -> str:
    """A difference in words: `lower by 0.12 [0.08, 0.16] bits per byte`."""
    show, name = unit
    return in_words(of, show, name)


def guessed(chance: Chance) -> str:
    """What guessing gives: `33.3 % ± 4.3`."""
    return f"{share_said(chance.level)} ± {hundredths(chance.error)}"
