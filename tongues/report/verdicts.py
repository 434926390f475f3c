"""A finding put to the test: its parts, each a number with an interval, and a verdict by rule.

A finding of a direction holds where the interval lies on its side of nothing, and does not where
it lies on the other. A finding that two things are alike holds where the interval lies within a
tolerance said beforehand, and does not where it lies outside of it. The rest cannot be told.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from tongues.estimate import Estimate

__all__ = ["Cells", "Claim", "Judge", "Part", "Verdict", "above", "below", "parts", "within"]

Verdict = Literal["holds", "does not hold", "cannot be told"]
Judge = Callable[[Estimate], Verdict]
Cells = Mapping[tuple[str, float | None], Estimate | None]  # by target and share of replay


@dataclass(frozen=True, slots=True)
class Part:
    """A finding on one target, at one share of replay where it is about that.

    beside: the target it was compared with, if any. reason: why no verdict is given, where the
    number cannot tell however narrow its interval.
    """

    target: str
    replay: float | None
    value: Estimate
    verdict: Verdict
    beside: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding of others, and its parts here.

    measure: what the numbers are. unit: of them, `%` or `points` (percentage points) for shares.
    """

    name: str
    finding: str
    measure: str
    unit: str
    parts: tuple[Part, ...]

    @property
    def verdict(self) -> str:
        """What of it holds, in a few words."""
        found = {part.verdict for part in self.parts}
        if len(found) == 1:
            return found.pop()
        told: dict[str, list[str]] = {}
        for part in self.parts:
            share = "" if part.replay is None else f" at {part.replay * 100:.3g} %"
            told.setdefault(part.verdict, []).append(f"`{part.target}`{share}")
        return "; ".join(f"{verdict}: {', '.join(where)}" for verdict, where in told.items())


def above(value: Estimate) -> Verdict:
    """Whether it is more than nothing."""
    if value.low is None or value.high is None:
        return "cannot be told"
    return "holds" if value.low > 0 else "does not hold" if value.high <= 0 else "cannot be told"


def below(value: Estimate) -> Verdict:
    """Whether it is less than nothing."""
    if value.low is None or value.high is None:
        return "cannot be told"
    return "holds" if value.high < 0 else "does not hold" if value.low >= 0 else "cannot be told"


def within(tolerance: float, of: float = 0.0) -> Judge:
    """Whether it is `of` but for the tolerance."""

    def judge(value: Estimate) -> Verdict:
        if value.low is None or value.high is None:
            return "cannot be told"
        low, high = value.low - of, value.high - of
        if -tolerance <= low and high <= tolerance:
            return "holds"
        return "does not hold" if low > tolerance or high < -tolerance else "cannot be told"

    return judge


def parts(cells: Cells, judge: Judge, reason: str = "") -> tuple[Part, ...]:
    """A part for every number there is; given a reason, none of them gets a verdict."""
    return tuple(
        Part(target, replay, value, "cannot be told" if reason else judge(value), reason=reason)
        for (target, replay), value in cells.items()
        if value
    )
