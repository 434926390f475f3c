"""How much of the base's languages a continued run forgets, by its share of replay.

A prior for the relative rise of the loss on those languages, fitted to own runs and published
figures (`forgetting.csv`). With r the share of replay, D the tokens and N the parameters,

    f(rise) = b0 + b1 s + b2 s t + b3 n + study + run
    s = log(0.26/(r + 0.01)),  t = log10(D/N)/3,  n = log10(min(N, 1e8)/1e8)

f is asinh(rise/0.03) for a rise and rise/0.03 for a fall; `study` and `run` are normal. Learning
rate, distance of the languages and the base's own training are not in it: intervals are wide.
"""

import csv
import math
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import product
from statistics import NormalDist, median

import numpy as np

from tongues.estimate import LEVEL, Estimate
from tongues.plan.published import published_projects

# By log score and interval score on studies left out (benchmarks/replay_prior.txt).
_UNIT = 0.03  # of f
_LITTLE = 0.01  # share of the base's languages in text that replays nothing
_LARGE = 1e8  # parameters above which size made no difference
_WIDTHS = np.array([5.0, 2.0, 0.1, 0.5])  # standard deviations of the priors of b0 to b3, mean 0
_SCALES = np.geomspace(0.2, 2.5, 23)  # of `study` and `run`, with half-normal priors of width 1
_SHARES = tuple(step / 100 for step in (*range(11), *range(15, 51, 5)))


@dataclass(frozen=True, slots=True)
class Rise:
    """A measured run; rise: of the loss on the base's languages, 0.02 for 2 %."""

    study: str
    params: float
    tokens: float
    replay: float
    rise: float


@dataclass(frozen=True, slots=True)
class Prior:
    """A fit: b0 to b3, their covariance, and the variance of `study` and `run` together."""

    coefficients: np.ndarray
    covariance: np.ndarray
    variance: float
    studies: int

    def stretched(self, share: float, tokens: float, params: float) -> NormalDist:
        """f(rise) of a run of a new study."""
        x = _design(np.array([[share, tokens, params]]))[0]
        variance = x @ self.covariance @ x + self.variance
        return NormalDist(float(x @ self.coefficients), math.sqrt(variance))


@dataclass(frozen=True, slots=True)
class ReplayAdvice:
    """A share of replay for a limit; likely: the probability that the rise stays within it.

    possible: whether a share up to 50 % is as likely as was asked; else it is the likeliest one.
    """

    share: float
    likely: float
    rise: Estimate
    possible: bool


@lru_cache
def known_rises() -> tuple[Rise, ...]:
    """The table that comes with the package."""
    text = (files("tongues.plan") / "forgetting.csv").read_text(encoding="utf-8")
    numbers = ("params", "tokens", "replay", "rise")
    rows = csv.DictReader(text.splitlines())
    return tuple(Rise(row["study"], *(float(row[name]) for name in numbers)) for row in rows)


@lru_cache
def fit_prior(rises: tuple[Rise, ...]) -> Prior:
    """The prior from these runs: least squares with an effect of each study."""
    x = _design(np.array([[r.replay, r.tokens, r.params] for r in rises]))
    data = np.column_stack([x, [stretch(r.rise) for r in rises]])
    names = sorted({r.study for r in rises})
    member = np.array([[r.study == name for r in rises] for name in names], dtype=float)
    counts, sums = member.sum(axis=1), member @ data
    fits: list[tuple[float, Prior]] = []
    for study, run in product(_SCALES**2, _SCALES**2):  # variances
        whole = run + counts * study
        moments = (data.T @ data - (sums.T * (study / whole)) @ sums) / run
        precision = moments[:4, :4] + np.diag(_WIDTHS**-2)
        best = np.linalg.solve(precision, moments[:4, 4])
        misfit = moments[4, 4] - moments[:4, 4] @ best + len(data) * math.log(run)
        misfit += np.log(whole / run).sum() + np.linalg.slogdet(precision)[1] + study + run
        fits.append((misfit, Prior(best, np.linalg.inv(precision), study + run, len(names))))
    return min(fits, key=lambda fit: fit[0])[1]


def forgetting(share: float, tokens: float, params: float) -> Estimate:
    """The relative rise of the loss on the base's languages (0.02: 2 %), with its 95 % interval.

    share: of the run's tokens, 0 to 1; tokens: of the whole run; params: of the base; both above 0.
    """
    prior = fit_prior(known_rises())
    at = prior.stretched(share, tokens, params)
    value, low, high = (relax(at.inv_cdf(p)) for p in (0.5, LEVEL / 2, 1.0 - LEVEL / 2))
    return Estimate(value, low, high, n=prior.studies, method=f"prior, {prior.studies} studies")


def probability_within(limit: float, share: float, tokens: float, params: float) -> float:
    """Probability that the loss on the base's languages rises by at most limit (0.02: 2 %)."""
    return fit_prior(known_rises()).stretched(share, tokens, params).cdf(stretch(limit))


def share_within(limit: float, tokens: float, params: float, likely: float = 0.8) -> ReplayAdvice:
    """The smallest share of replay that keeps the rise within limit with probability likely."""
    reached = {share: probability_within(limit, share, tokens, params) for share in _SHARES}
    enough = [share for share in _SHARES if reached[share] >= likely]
    share = enough[0] if enough else max(_SHARES, key=reached.__getitem__)
    return ReplayAdvice(share, reached[share], forgetting(share, tokens, params), bool(enough))


def usual_share() -> float:
    """The median share of published studies that replayed, in steps of 5 %, for want of a limit."""
    projects = [p for p in published_projects() if p.method == "continued"]
    by_study = {project.source: project.replay for project in projects if project.replay}
    return round(20 * median(by_study.values())) / 20


def stretch(rise: float) -> float:
    """f(rise)."""
    return math.asinh(rise / _UNIT) if rise > 0 else rise / _UNIT


def relax(stretched: float) -> float:
    """The rise of an f(rise)."""
    return _UNIT * (math.sinh(stretched) if stretched > 0 else stretched)


def _design(rows: np.ndarray) -> np.ndarray:
    """What b0 to b3 are multiplied by, a row each of share, tokens and parameters."""
    share, tokens, params = rows.T
    scarce = np.log((0.25 + _LITTLE) / (share + _LITTLE))
    length, size = np.log10(tokens / params) / 3, np.log10(np.minimum(params, _LARGE) / _LARGE)
    return np.column_stack([np.ones(len(rows)), scarce, scarce * length, size])
