"""Steps whose loss or gradient stands far above the steps just before them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

__all__ = ["Recent", "Spike", "judge"]

_WINDOW = 128  # steps
_FEWEST = 64  # steps before anything can stand out
_DEVIATIONS = 6.0  # the rule of OLMo-core's skipped steps
_LEAST = {"loss": 1.1, "norm of the gradient": 3.0}  # times the mean: small excesses do no harm


@dataclass(frozen=True, slots=True)
class Recent:
    """Losses and gradient norms of the last 128 steps, oldest first; goes into a checkpoint."""

    losses: Sequence[float] = ()
    norms: Sequence[float] = ()

    def followed_by(self, loss: float, norm: float) -> "Recent":
        """With one more step; the oldest goes. A value that is no number is not remembered."""
        if not (math.isfinite(loss) and math.isfinite(norm)):
            return self
        return Recent([*self.losses, loss][-_WINDOW:], [*self.norms, norm][-_WINDOW:])


@dataclass(frozen=True, slots=True)
class Spike:
    """What stood out at a step, and what was usual."""

    what: str  # loss, or norm of the gradient
    value: float
    mean: float  # of the steps before; nan where there were none
    deviation: float

    @property
    def finite(self) -> bool:
        """Whether it is a number at all; training cannot go on from what is not."""
        return math.isfinite(self.value)

    def __str__(self) -> str:
        """Such as `loss 7.91, where 3.12 ± 0.05 was usual`."""
        if not self.finite:
            return f"the {self.what} is no longer a number"
        usual = f"{self.mean:.3g} ± {self.deviation:.2g}"
        return f"{self.what} {self.value:.3g}, where {usual} was usual"


def judge(recent: Recent, loss: float, norm: float) -> Spike | None:
    """The spike that a step is, given the steps before it; None for an ordinary step.

    A loss or norm stands out when it is no number, or when it lies more than six standard
    deviations above the mean of the last 128 steps, of which at least 64 must have been seen,
    and at 1.1 times (loss) or three times (norm) that mean or more.
    """
    of_what = (("loss", loss, recent.losses), ("norm of the gradient", norm, recent.norms))
    for what, value, before in of_what:
        if not math.isfinite(value):
            return Spike(what, value, *_usual(before))
    for what, value, before in of_what:
        if len(before) < _FEWEST:
            continue
        mean, deviation = _usual(before)
        if value > max(mean + _DEVIATIONS * deviation, _LEAST[what] * mean):
            return Spike(what, value, mean, deviation)
    return None


def _usual(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation; not a number without any values."""
    if not values:
        return math.nan, math.nan
    mean = math.fsum(values) / len(values)
    variance = math.fsum(map(mul, values, values)) / len(values) - mean**2
    return mean, math.sqrt(max(variance, 0.0))
