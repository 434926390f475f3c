"""The one type for a number with its uncertainty."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

LEVEL = 0.05  # of every test and, as 95 %, of every interval


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval."""

    value: float  # NaN where there is none, as of a ratio to zero; null in JSON
    low: float | None = None  # None where no interval can be given
    high: float | None = None
    unit: str = ""  # such as `nats/token`
    n: int | None = None  # independent observations behind it
    method: str = ""  # of the interval, such as `Student's t`
    p: float | None = None  # p-value of the value being zero, where it was tested
    among: int = 1  # comparisons that p is corrected for
    reason: str = ""  # why there is no interval, or why the test could not be significant

    @property
    def excludes_zero(self) -> int:
        """1 or -1 when the whole interval is above or below zero, else 0."""
        if self.low is None or self.high is None:
            return 0
        return (self.low > 0) - (self.high < 0)

    def __neg__(self) -> Self:
        return self.times(-1.0)

    @property
    def significant(self) -> int:
        """1 or -1, the sign of the value, where p is at most 0.05, else 0."""
        if self.p is None or self.p > LEVEL:
            return 0
        return 1 if self.value > 0 else -1

    def times(self, factor: float) -> Self:
        """The same by another measure; factor: not zero, negative for the opposite difference."""
        low, high = (
            None if end is None else factor * end
            for end in ((self.low, self.high) if factor > 0 else (self.high, self.low))
        )
        return replace(self, value=factor * self.value, low=low, high=high)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self) | {"value": None if math.isnan(self.value) else self.value}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The estimate that `to_json` wrote."""
        value = plain["value"]
        return cls(**{**plain, "value": math.nan if value is None else value})
