"""Steps whose loss or gradient is far above that of the steps just before them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

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
        """With one more step; the oldest goes. A value that is not finite is not remembered."""
        if not (math.isfinite(loss) and math.isfinite(norm)):
            return self
        return Recent([*self.losses, loss][-_WINDOW:], [*self.norms, norm][-_WINDOW:])


@dataclass(frozen=True, slots=True)
class Spike:
    """An outlier at a step, and what was usual before; NaN where there were no steps."""

    what: str  # loss, or norm of the gradient
    value: float
    mean: float
    deviation: float

    @property
    def finite(self) -> bool:
        """Whether the value is finite, so that training can continue."""
        return math.isfinite(self.value)

    def __str__(self) -> str:
        """Such as `loss 7.91, where 3.12 ± 0.05 was usual`."""
        if not self.finite:
            return f"the {self.what} is no longer a number"
        usual = f"{self.mean:.3g} ± {self.deviation:.2g}"
        return f"{self.what} {self.value:.3g}, where {usual} was usual"


def judge(recent: Recent, loss: float, norm: float) -> Spike | None:
    """The spike that a step is, given the steps before it; None for an ordinary step.

    A loss or norm is an outlier when it is not finite, or when it is more than six standard
    deviations above the mean of the last 128 steps, of which at least 64 must have been seen,
    and at 1.1 times (loss) or three times (norm) that mean or more.
    """
    seen = (("loss", loss, recent.losses), ("norm of the gradient", norm, recent.norms))
    steps = [Spike(what, value, *_mean_and_deviation(past)) for what, value, past in seen]
    for step in steps:
        if not step.finite:
            return step
    for step in steps if len(recent.losses) >= _FEWEST else ():
        far = step.mean + _DEVIATIONS * step.deviation
        if step.value > max(far, _LEAST[step.what] * step.mean):
            return step
    return None


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return math.nan, math.nan
    mean = math.fsum(values) / len(values)
    variance = math.fsum(map(mul, values, values)) / len(values) - mean**2
    return mean, math.sqrt(max(variance, 0.0))
