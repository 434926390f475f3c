"""Intervals by resampling runs: the rows of one run are correlated, so runs are drawn whole."""

import numpy as np

from tongues.errors import UserError
from tongues.laws.rows import Rows
from tongues.laws.solve import Problem, descend

__all__ = ["FEWEST_RUNS", "draw_runs", "intervals", "percentiles", "refit", "upright"]

FEWEST_RUNS = 3  # resamples of two runs would all be alike
_BATCH = 64  # so many draws of a few hundred rows stay in a core's cache
_ROUNDS = 200  # a draw along a flat valley need not be exact
_LEVEL = (2.5, 97.5)


def draw_runs(rows: Rows, variables: tuple[str, ...], draws: int, seed: int) -> np.ndarray:
    """How often each run is in each resample, (draws, runs); no resamples of fewer than 3 runs.

    A resample with a single value of one of `variables` could not be fitted and is drawn anew.
    """
    random = np.random.default_rng(seed)
    even = np.full(rows.n_runs, 1.0 / rows.n_runs)
    holds = []
    for name in variables:
        values, level = np.unique(rows.variables[name], return_inverse=True)
        table = np.zeros((rows.n_runs, len(values)))
        table[rows.run, level] = 1.0
        holds.append(table)
    kept = np.empty((0, rows.n_runs))
    while rows.n_runs >= FEWEST_RUNS and len(kept) < draws:
        counts = random.multinomial(rows.n_runs, even, size=draws).astype(float)
        fit = np.all([((counts @ table) > 0).sum(1) > 1 for table in holds], axis=0)
        kept = np.concatenate([kept, counts[fit]])
    return kept[:draws]


def refit(
    problem: Problem, theta: np.ndarray, weights: np.ndarray, known: np.ndarray
) -> dict[str, np.ndarray]:
    """The free parameters of every resample, each descent started from the point estimate.

    theta: the point estimate's centred parameters.
    weights: how often each row counts in each draw, (draws, rows).
    known: the loss that taken terms fix, (1 or draws, rows).
    """
    known = np.broadcast_to(known, weights.shape)
    parts = [np.empty((0, len(theta)))]
    for first in range(0, len(weights), _BATCH):
        part = slice(first, first + _BATCH)
        start = np.tile(theta, (len(weights[part]), 1))
        parts.append(descend(problem, start, weights[part], known[part], rounds=_ROUNDS).theta)
    return problem.params(np.concatenate(parts))


def percentiles(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The 95 % percentile interval over the first axis."""
    low, high = np.percentile(values, _LEVEL, axis=0)
    return low, high


def upright(draws: dict[str, np.ndarray], dimensions: int) -> dict[str, np.ndarray]:
    """The draws along a new first axis, ready to broadcast over arrays of `dimensions` axes."""
    if not draws:
        raise UserError("this law has no draws, so no intervals", where="law")
    return {name: values.reshape(-1, *(1,) * dimensions) for name, values in draws.items()}


def intervals(draws: dict[str, np.ndarray]) -> dict[str, tuple[float, float]]:
    """The 95 % percentile interval of each parameter; empty where there are no draws."""
    ends = {name: percentiles(values) for name, values in draws.items() if len(values)}
    return {name: (float(low), float(high)) for name, (low, high) in ends.items()}
