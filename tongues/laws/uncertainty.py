"""Intervals by fitting again to resampled runs."""

from collections.abc import Mapping
from statistics import NormalDist

import numpy as np

from tongues.laws.solver import FitProblem, descend

_BATCH = 16_000  # rows times draws that stay in a core's cache
_FEWEST_DRAWS = 20  # draws below which a percentile of 2.5 means nothing
_ROUNDS = 200  # a draw along a flat valley need not be exact
_GAIN = 1e-8  # of the objective: an interval needs three digits of a draw, not fourteen
_LEVEL = (2.5, 97.5)  # the middle 95 %
_CORRECTED = 0.5  # share of the bias correction
_NORMAL = NormalDist()


def refit(
    problem: FitProblem, theta: np.ndarray, weights: np.ndarray, context: np.ndarray
) -> dict[str, np.ndarray]:
    """The fitted parameters of every resample, each descent started from the point estimate.

    theta: the point estimate's free coordinates.
    weights: how often each row counts in each draw, (draws, rows).
    context: what taken parameters mean for the rows, (1 or draws, …).
    """
    context = np.broadcast_to(context, (len(weights), context.shape[1]))
    parts = [np.empty((0, len(theta)))]
    batch = max(1, _BATCH // weights.shape[1])
    for first in range(0, len(weights), batch):
        part = slice(first, first + batch)
        start = np.tile(theta, (len(weights[part]), 1))
        ends = descend(problem, start, weights[part], context[part], rounds=_ROUNDS, gain=_GAIN)
        parts.append(ends.theta)
    return problem.params(np.concatenate(parts))


def percentiles(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The 95 % percentile interval over the first axis."""
    low, high = np.percentile(values, _LEVEL, axis=0)
    return low, high


def bootstrap_intervals(
    draws: Mapping[str, np.ndarray], point: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """The 95 % interval of each parameter; empty where draws are too few for one.

    Percentiles of the draws, shifted by half of Efron's correction for their bias: plain ones hold
    the truth too often for few independent rows, fully corrected ones too seldom for few runs
    (`benchmarks/coverage.py`).
    """
    ends = {}
    for name, values in draws.items():
        if len(values) >= _FEWEST_DRAWS:
            below = float(np.mean(values < point[name]) + 0.5 * np.mean(values == point[name]))
            shift = 2.0 * _CORRECTED * _NORMAL.inv_cdf(min(max(below, 0.01), 0.99))
            levels = [
                100.0 * _NORMAL.cdf(shift + _NORMAL.inv_cdf(level / 100.0)) for level in _LEVEL
            ]
            low, high = np.percentile(values, levels)
            ends[name] = (float(low), float(high))
    return ends
