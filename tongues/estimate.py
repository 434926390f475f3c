"""The one type for a number with its uncertainty."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

__all__ = ["Estimate"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval.

    value: None where there is none, as of a ratio to zero. low, high: None where no interval can
    be given; `reason` says why. unit: such as `nats/token`. n: independent observations behind it.
    method: how the interval was made, such as `paired t over documents`. p: the p-value of the
    value being zero, corrected for `among` comparisons, where it was tested.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    n: int | None = None
    method: str = ""
    p: float | None = None
    among: int = 1
    reason: str = ""

    @property
    def excludes_zero(self) -> int:
        """1 or -1 when the whole interval lies above or below zero, else 0."""
        if self.low is None or self.high is None:
            return 0
        return (self.low > 0) - (self.high < 0)

    def __neg__(self) -> Self:
        """The same of the opposite difference."""
        value, low, high = (None if x is None else -x for x in (self.value, self.high, self.low))
        return replace(self, value=value, low=low, high=high)

    def times(self, factor: float, unit: str = "") -> Self:
        """The same in another unit; factor: positive."""
        value, low, high = (
            None if number is None else factor * number
            for number in (self.value, self.low, self.high)
        )
        return replace(self, value=value, low=low, high=high, unit=unit or self.unit)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The estimate that `to_json` wrote."""
        return cls(**plain)
