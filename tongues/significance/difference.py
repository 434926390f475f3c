"""What a comparison gives, and what a measurement gives: a value and what it may be."""

from dataclasses import dataclass

from tongues.significance.student import LEVEL

__all__ = ["Difference", "Measured"]


@dataclass(frozen=True, slots=True)
class Measured:
    """A value with its 95 % interval; None where it has none, and `lacking` says why.

    value: None where there is none either, as of a ratio to nothing.
    """

    value: float | None
    low: float | None
    high: float | None
    lacking: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing less another, with its 95 % interval and the chance of so much by luck.

    among: how many comparisons p allows for. documents: that were cut, where that was the test.
    lacking: why nothing can be told, whatever the difference; low, high and p are None where there
    are none at all.
    """

    mean: float
    low: float | None
    high: float | None
    p: float | None
    among: int = 1
    documents: int | None = None
    lacking: str | None = None

    @property
    def told(self) -> int:
        """1 or -1 where the two can be told apart, by the sign of the mean; else 0."""
        if self.p is None or self.p > LEVEL:
            return 0
        return 1 if self.mean > 0 else -1
