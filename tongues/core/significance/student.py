"""Student's t for any degrees of freedom, also fractional."""

from functools import cache
from math import erfc, exp, inf, lgamma, log, log1p, sqrt

from tongues.core.estimate import LEVEL

_SMALL = 1e-300  # replaces 0 where the next step divides by it
_EXACT = 1e-15  # relative change at which a fraction in 64 bits is done


def two_sided(t: float, freedom: float) -> float:
    """The two-sided p-value of `t` with `freedom` degrees of freedom."""
    if freedom == inf:
        return erfc(abs(t) / sqrt(2.0))
    if t == 0.0:
        return 1.0
    if abs(t) == inf:
        return 0.0
    return _beta(freedom / 2, 0.5, freedom / (freedom + t * t), t * t / (freedom + t * t))


@cache
def critical(freedom: float, level: float = LEVEL) -> float:
    """The critical value of a two-sided test at `level`."""
    low, high = 0.0, 2.0
    while two_sided(high, freedom) > level:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, freedom) > level else (low, middle)
    return (low + high) / 2


def _beta(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function at x; rest: 1 - x, without its rounding."""
    if x > (a + 1) / (a + b + 2):  # there the fraction of the other side ends sooner
        return 1.0 - _beta(b, a, rest, x)
    whole = lgamma(a + b) - lgamma(a) - lgamma(b)
    log_x = log1p(-rest) if rest < 0.5 else log(x)
    log_rest = log1p(-x) if x < 0.5 else log(rest)
    front = exp(whole + a * log_x + b * log_rest) / a
    # Lentz's way through the continued fraction
    ratio, below = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1) or _SMALL)
    value, step = below, 0
    while True:
        step += 1
        for top in (
            step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step)),
            -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1)),
        ):
            below = 1.0 / (1.0 + top * below or _SMALL)
            ratio = 1.0 + top / ratio or _SMALL
            value *= below * ratio
        if abs(below * ratio - 1.0) < _EXACT:
            return front * value
