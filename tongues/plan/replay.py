"""How much of the base's languages a continued run forgets, by its share of replay.

A prior for the relative rise of the held-out loss on those languages, for bases on which nothing
was measured. It is fitted to `forgetting.csv`: runs of this project and published figures from
before and after. With r the share of replay, D the tokens and N the parameters,

    f(rise) = b0 + b1 s + b2 s t + b3 n + study + run
    s = log(0.26/(r + 0.01)),  t = log10(D/N)/3,  n = log10(N/1e9)

f is asinh(rise/0.02) for a rise and rise/0.02 for a fall: a rise of 2 % may as well be none, a rise
of 50 % as well 20 or 100 %. `study` and `run` are normal; a new study draws both. Studies differ
more than shares do, since learning rate, distance of the languages and length of the base's own
training are not in it: intervals are wide. `benchmarks/replay_prior.txt` has how often they hold on
studies left out.
"""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import product
from statistics import NormalDist, median

import numpy as np

from tongues.estimate import LEVEL, Estimate
from tongues.plan.published import Project, published_projects

_UNIT = 0.02  # of f; the best of 0.01, 0.02 and 0.03 on studies left out
_LITTLE = (
    0.01  # share that no replay is worth: other text of a run has some of the base's languages
)
# Standard deviations of the priors of b0 to b3: the first two are all but free.
_WIDTHS = np.array([5.0, 2.0, 0.5, 0.5])
_SCALES = np.geomspace(0.2, 2.5, 23)  # of `study` and `run`, each with a half-normal prior of 1
_SHARES = tuple(step / 100 for step in (*range(11), *range(15, 51, 5)))
_STEP = 0.05  # in which published shares are told


@dataclass(frozen=True, slots=True)
class Rise:
    """A measured run; rise: of the loss on the base's languages, relative, 0.02 for 2 %."""

    study: str
    params: float
    tokens: float
    replay: float
    rise: float


@dataclass(frozen=True, slots=True)
class Prior:
    """A fit: b0 to b3, their covariance, and the variance of a run of a new study around them."""

    coefficients: np.ndarray
    covariance: np.ndarray
    variance: float
    studies: int

    def predict(self, share: float, tokens: float, params: float) -> NormalDist:
        """f(rise) of a run of a new study."""
        x = _design(np.array([share]), np.array([tokens]), np.array([params]))[0]
        variance = x @ self.covariance @ x + self.variance
        return NormalDist(float(x @ self.coefficients), math.sqrt(variance))


@dataclass(frozen=True, slots=True)
class ReplayAdvice:
    """A share of replay for a limit; likely: the probability that the rise stays within it.

    possible: whether a share up to 50 % is as likely as was asked; if not, it is the likeliest.
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


def fit_rises(rises: Sequence[Rise]) -> Prior:
    """The prior from these runs: least squares with an effect of each study."""
    columns = [[getattr(r, name) for r in rises] for name in ("replay", "tokens", "params")]
    x, y = _design(*map(np.array, columns)), np.array([_stretch(r.rise) for r in rises])
    names = sorted({r.study for r in rises})
    member = np.array([[r.study == name for r in rises] for name in names], dtype=float)
    counts, sums = member.sum(axis=1), member @ np.column_stack([x, y])
    best = -math.inf, Prior(_WIDTHS, np.eye(4), 1.0, len(names))
    for study, run in product(_SCALES**2, _SCALES**2):  # variances
        shrink = study / (run + counts * study)
        whole = np.column_stack([x, y])
        moments = (whole.T @ whole - (sums.T * shrink) @ sums) / run
        precision = moments[:4, :4] + np.diag(_WIDTHS**-2.0)
        coefficients = np.linalg.solve(precision, moments[:4, 4])
        spread = (counts - 1) * np.log(run) + np.log(run + counts * study)
        misfit = moments[4, 4] - moments[:4, 4] @ coefficients + spread.sum() + study + run
        likely = -0.5 * (misfit + np.linalg.slogdet(precision)[1])
        if likely > best[0]:
            covariance = np.linalg.inv(precision)
            best = likely, Prior(coefficients, covariance, study + run, len(names))
    return best[1]


def forgetting(share: float, tokens: float, params: float, prior: Prior | None = None) -> Estimate:
    """The relative rise of the loss on the base's languages, with its 95 % interval.

    share: of the run's tokens, 0 to 1; tokens: of the whole run; params: of the base; both above 0.
    """
    prior = prior or _prior()
    at = prior.predict(share, tokens, params)
    value, low, high = (_relative(at.inv_cdf(p)) for p in (0.5, LEVEL / 2, 1 - LEVEL / 2))
    return Estimate(value, low, high, n=prior.studies, method=f"prior of {prior.studies} studies")


def probability_within(limit: float, share: float, tokens: float, params: float) -> float:
    """Probability that the loss on the base's languages rises by no more than limit (0.02: 2 %)."""
    return _prior().predict(share, tokens, params).cdf(_stretch(limit))


def share_within(limit: float, tokens: float, params: float, likely: float = 0.8) -> ReplayAdvice:
    """The smallest share of replay that keeps the rise within limit with probability likely."""
    found = {share: probability_within(limit, share, tokens, params) for share in _SHARES}
    enough = [share for share, probability in found.items() if probability >= likely]
    share = enough[0] if enough else max(found, key=lambda one: (found[one], one))
    return ReplayAdvice(share, found[share], forgetting(share, tokens, params), bool(enough))


def projects_with_replay() -> list[Project]:
    """Published projects that continued a base and replayed its languages, one a study."""
    replayed = [p for p in published_projects() if p.method == "continued" and p.replay]
    return list({project.source: project for project in replayed}.values())


def usual_share() -> float:
    """The median share of those projects, in steps of 5 %, for when no limit is given."""
    return round(median(p.replay or 0.0 for p in projects_with_replay()) / _STEP) * _STEP


@lru_cache
def _prior() -> Prior:
    return fit_rises(known_rises())


def _design(share: np.ndarray, tokens: np.ndarray, params: np.ndarray) -> np.ndarray:
    scarce = np.log((0.25 + _LITTLE) / (share + _LITTLE))
    length = np.log10(tokens / params) / 3.0
    return np.stack([np.ones_like(scarce), scarce, scarce * length, np.log10(params / 1e9)], axis=1)


def _stretch(rise: float) -> float:
    return math.asinh(rise / _UNIT) if rise > 0 else rise / _UNIT


def _relative(stretched: float) -> float:
    return _UNIT * (math.sinh(stretched) if stretched > 0 else stretched)
