"""Whether the prior for forgetting (`tongues.plan.replay`) holds on studies left out of its fit.

    python benchmarks/replay_prior.py > benchmarks/replay_prior.txt

The simplest rule beside it: the median rise of the other studies' runs with about that share, and
their lowest and highest. Score: width of the interval, and 40 times what lies outside of it, in
points of loss; the mean counts studies alike. Last, the answers to three limits.
"""

from datetime import date
from itertools import product

import numpy as np

from tongues.frames import text_table
from tongues.plan.replay import Rise, fit_prior, known_rises, relax, share_within

CLASSES = (0.0, 0.02, 0.07, 0.15, 0.3, 1.0)  # highest shares that count as about the same
HEAD = ("study left out", "runs", "inside", "error", "score", "rule: inside", " error", " score")


def by_prior(run: Rise, others: list[Rise]) -> tuple[float, float, float]:
    """Low, median and high."""
    at = fit_prior(tuple(others)).stretched(run.replay, run.tokens, run.params)
    low, middle, high = (relax(at.inv_cdf(p)) for p in (0.025, 0.5, 0.975))
    return low, middle, high


def by_share(run: Rise, others: list[Rise]) -> tuple[float, float, float]:
    """The same of the runs in the run's class."""
    kind = np.searchsorted(CLASSES, run.replay)
    rises = [r.rise for r in others if np.searchsorted(CLASSES, r.replay) == kind]
    return min(rises), float(np.median(rises)), max(rises)


def figures(run: Rise, others: list[Rise]) -> list[float]:
    """Inside, error and score of both."""
    found: list[float] = []
    for low, middle, high in (by_prior(run, others), by_share(run, others)):
        outside = max(low - run.rise, run.rise - high, 0.0)
        found += [outside == 0.0, abs(middle - run.rise), high - low + 40.0 * outside]
    return found


def main() -> None:
    """Print both tables."""
    runs, rows, means = known_rises(), [], []
    for study in sorted({run.study for run in runs}):
        others = [run for run in runs if run.study != study]
        own = np.array([figures(run, others) for run in runs if run.study == study])
        means.append(own.mean(axis=0))
        rows.append([study, str(len(own)), *(f"{100 * value:.1f}" for value in means[-1])])
    rows.append(["mean", str(len(runs)), *(f"{100 * value:.1f}" for value in np.mean(means, 0))])
    print(f"{date.today()}, {len(runs)} runs of {len(means)} studies; % of runs, % of the loss")
    print(text_table([dict(zip(HEAD, row, strict=True)) for row in rows]))
    print(f"\nfitted to all: {np.round(fit_prior(runs).coefficients, 3)}")
    for params, tokens in product((135e6, 1e9, 8e9), (1e9, 10e9, 100e9)):
        answers = [(limit, share_within(limit, tokens, params)) for limit in (0.01, 0.02, 0.1)]
        line = (f"  {lim:.0%}: {a.share:.0%}, probability {a.likely:.2f}" for lim, a in answers)
        print(f"{params:.3g} parameters, {tokens:.0e} tokens{''.join(line)}")


if __name__ == "__main__":
    main()
