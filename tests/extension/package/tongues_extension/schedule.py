"""A schedule with a setting of its own."""

from typing import ClassVar

from tongues.core.quantities import Share
from tongues.recipe import Schedule, Span


class Sawtooth(Schedule):
    """Falls in a line in every period, and jumps back to the peak."""

    name: ClassVar[str] = "sawtooth"
    summary: ClassVar[str] = "falls in a line again and again"

    period: Share = 0.5  # of the steps

    def share(self, step: int, span: Span) -> float:
        """Of the peak."""
        period = max(1, round(self.period * span.steps))
        return 1.0 - (1.0 - span.final) * ((step - span.warm) % period) / period

    def check(self, warmup: float, final: float) -> None:
        """A period is some steps long, and one fits after the warm-up."""
        if self.period == 0:
            raise ValueError("a period of no steps has no rate")
        if warmup + self.period > 1:
            raise ValueError(f"no period of {self.period:.0%} fits after the warm-up")
