"""The prior for forgetting of `tongues.plan.replay`: its fit, and studies left out of it.

    python benchmarks/replay_prior.py > benchmarks/replay_prior.txt

`replay_prior.csv` has the measured rises with their sources. Size counts up to 100M parameters,
above which it made no difference. The simplest rule beside it: the median rise of the other
studies' runs with about that share, and their lowest and highest. Score: width of the interval, and
40 times what lies outside of it, in points of loss; the mean counts studies alike. Then how often
limits were kept on studies left out, where the plan's share promises two in three.
"""

import csv
import math
from dataclasses import dataclass
from datetime import date
from itertools import product
from pathlib import Path
from statistics import NormalDist

import numpy as np

from tongues.core.pages import text_table
from tongues.plan.replay import probability_within, relax, scarcity, share_within, stretch

CLASSES = (0.0, 0.02, 0.07, 0.15, 0.3, 1.0)  # highest shares that count as about the same
HEAD = ("study left out", "runs", "inside", "error", "score", "rule: inside", " error", " score")
LARGE = 1e8  # parameters
WIDTHS = np.array([5.0, 2.0, 0.5])  # standard deviations of the priors of b0, b1 and size's, mean 0
SCALES = np.geomspace(0.2, 2.5, 23)  # of `study` and `run`, with half-normal priors of width 1


@dataclass(frozen=True)
class Rise:
    """A measured run; rise: of the loss on the base's languages, 0.02 for 2 %."""

    study: str
    params: float
    tokens: float
    replay: float
    rise: float


@dataclass(frozen=True)
class Prior:
    """A fit: coefficients, their covariance, and the variance of `study` and `run` together."""

    coefficients: np.ndarray
    covariance: np.ndarray
    variance: float

    def at(self, run: Rise) -> NormalDist:
        """f(rise) of a run of a new study."""
        x = design(run)
        variance = x @ self.covariance @ x + self.variance
        return NormalDist(float(x @ self.coefficients), math.sqrt(variance))


def known_rises() -> list[Rise]:
    """The table."""
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    numbers = ("params", "tokens", "replay", "rise")
    return [Rise(row["study"], *(float(row[name]) for name in numbers)) for row in rows]


def design(run: Rise) -> np.ndarray:
    """What b0, b1 and the effect of size are multiplied by."""
    return np.array([1.0, scarcity(run.replay), math.log10(min(run.params, LARGE) / LARGE)])


def fit(rises: list[Rise]) -> Prior:
    """Least squares with an effect of each study, and its most likely variances."""
    x = np.array([design(run) for run in rises])
    data = np.column_stack([x, [stretch(run.rise) for run in rises]])
    names = sorted({run.study for run in rises})
    member = np.array([[run.study == name for run in rises] for name in names], dtype=float)
    counts, sums = member.sum(axis=1), member @ data
    fits: list[tuple[float, Prior]] = []
    for study, run in product(SCALES**2, SCALES**2):  # variances
        whole = run + counts * study
        moments = (data.T @ data - (sums.T * (study / whole)) @ sums) / run
        precision = moments[:3, :3] + np.diag(WIDTHS**-2)
        best = np.linalg.solve(precision, moments[:3, 3])
        misfit = moments[3, 3] - moments[:3, 3] @ best + len(data) * math.log(run)
        misfit += np.log(whole / run).sum() + np.linalg.slogdet(precision)[1] + study + run
        fits.append((misfit, Prior(best, np.linalg.inv(precision), study + run)))
    return min(fits, key=lambda one: one[0])[1]


def by_share(run: Rise, others: list[Rise]) -> tuple[float, float, float]:
    """Low, median and high of the runs in the run's class."""
    kind = np.searchsorted(CLASSES, run.replay)
    rises = [r.rise for r in others if np.searchsorted(CLASSES, r.replay) == kind]
    return min(rises), float(np.median(rises)), max(rises)


def figures(run: Rise, others: list[Rise], prior: Prior) -> list[float]:
    """Inside, error and score of both."""
    at, found = prior.at(run), list[float]()
    own = tuple(relax(at.inv_cdf(p)) for p in (0.025, 0.5, 0.975))
    for low, middle, high in (own, by_share(run, others)):
        outside = max(low - run.rise, run.rise - high, 0.0)
        found += [outside == 0.0, abs(middle - run.rise), high - low + 40.0 * outside]
    return found


def main() -> None:
    """Print the tables and the constants."""
    runs, rows, means = known_rises(), [], []
    told: dict[float, list[tuple[float, bool]]] = {0.01: [], 0.02: [], 0.1: []}
    for study in sorted({run.study for run in runs}):
        own, others = ([run for run in runs if (run.study == study) == is_own] for is_own in (1, 0))
        prior = fit(others)
        means.append(np.array([figures(run, others, prior) for run in own]).mean(axis=0))
        rows.append([study, str(len(own)), *(f"{100 * value:.1f}" for value in means[-1])])
        for limit, pairs in told.items():
            pairs += [(prior.at(run).cdf(stretch(limit)), run.rise <= limit) for run in own]
    rows.append(["mean", str(len(runs)), *(f"{100 * value:.1f}" for value in np.mean(means, 0))])
    print(f"{date.today()}, {len(runs)} runs of {len(means)} studies; % of runs, % of the loss")
    print(text_table([dict(zip(HEAD, row, strict=True)) for row in rows]))
    print("\nprobability of staying within a limit, told and held on runs of studies left out")
    for limit, pairs in told.items():
        for low, high in ((0.0, 0.5), (0.5, 1.01)):
            some = [(p, kept) for p, kept in pairs if low <= p < high]
            if some:
                means_of = np.mean(np.array(some, dtype=float), axis=0)
                print(f"{limit:.0%}: told {means_of[0]:.2f}, held {means_of[1]:.2f} of {len(some)}")
    whole = fit(runs)
    print(f"\nFITTED {np.round(whole.coefficients, 4)}")
    print(f"COVARIANCE {np.round(whole.covariance[:2, :2].tolist(), 5).tolist()}")
    print(f"VARIANCE {whole.variance:.4f}")
    for limit in told:
        share = share_within(limit, 2 / 3)
        print(
            f"{limit:.0%}: {share:.0%} replay, probability {probability_within(limit, share):.2f}"
        )


if __name__ == "__main__":
    main()
