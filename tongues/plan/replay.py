"""How much of the base's languages a continued run forgets, by its share of replay.

    f(rise) = b0 + b1 s + study + run,    s = log(0.26/(r + 0.01))

r is the share of replay, and f is asinh(rise/0.03) for a rise of the loss and rise/0.03 for a fall.
`study` and `run` are normal. Fitted to 83 rises of ten studies, 51 of them runs of this project;
two are of bases above 1.7B parameters. Learning rate, distance of the languages and the base's own
training are not in it, and length made no difference: intervals are wide, probabilities rough
(benchmarks/replay_prior.txt).
"""

import math
from statistics import NormalDist

from tongues.core.estimate import LEVEL, Estimate

UNIT = 0.03  # of f
LITTLE = 0.01  # share of the base's languages in text that replays nothing
# By benchmarks/replay_prior.py: b0 and b1, their covariance, and the variance of `study` and `run`.
FITTED = (-0.0255, 0.6782)
COVARIANCE = (0.08861, -0.00652, 0.00692)  # of b0, of both, of b1
VARIANCE = 1.2914  # of `study` and `run` together
USUAL = 0.25  # the median of eleven published studies that replayed (`benchmarks/projects.csv`)
_STUDIES = 10  # behind the fit
_SHARES = tuple(step / 100 for step in (*range(11), *range(15, 51, 5)))


def forgetting(share: float) -> Estimate:
    """The relative rise of the loss on the base's languages (0.02: 2 %), with its 95 % interval."""
    at = _stretched(share)
    value, low, high = (relax(at.inv_cdf(p)) for p in (0.5, LEVEL / 2, 1.0 - LEVEL / 2))
    return Estimate(value, low, high, n=_STUDIES, method=f"a prior from {_STUDIES} studies")


def probability_within(limit: float, share: float) -> float:
    """Probability that the loss on the base's languages rises by at most limit (0.02: 2 %)."""
    return _stretched(share).cdf(stretch(limit))


def share_within(limit: float, likely: float) -> float:
    """The least share that keeps the rise within limit so probably; else the most likely one."""
    enough = (share for share in _SHARES if probability_within(limit, share) >= likely)
    return next(enough, _SHARES[-1])


def scarcity(share: float) -> float:
    """s: 0 at 25 %, the share of the fit whatever a plan takes, and more the less is replayed."""
    return math.log((0.25 + LITTLE) / (share + LITTLE))


def stretch(rise: float) -> float:
    """f(rise)."""
    return math.asinh(rise / UNIT) if rise > 0 else rise / UNIT


def relax(stretched: float) -> float:
    """The rise of an f(rise)."""
    return UNIT * (math.sinh(stretched) if stretched > 0 else stretched)


def _stretched(share: float) -> NormalDist:
    s, (first, both, second) = scarcity(share), COVARIANCE
    variance = first + 2.0 * s * both + s * s * second + VARIANCE
    return NormalDist(FITTED[0] + FITTED[1] * s, math.sqrt(variance))
