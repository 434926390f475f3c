import numpy as np
import pytest

from tongues.errors import UserError
from tongues.laws import fit_scratch
from tongues.laws.forms import SCRATCH
from tongues.laws.rows import read_rows
from tongues.laws.solve import pose, solve
from tongues.laws.uncertainty import draw_runs, intervals, refit, upright


def noisy_rows(noise=0.01):
    N = np.repeat(np.geomspace(1e7, 1e10, 8), 6)
    D = np.tile(np.geomspace(1e8, 1e11, 6), 8)
    error = np.exp(noise * np.random.default_rng(0).standard_normal(len(N)))
    return N, D, (1.5 + 400 / N**0.35 + 900 / D**0.35) * error


def test_runs_are_drawn_whole_and_as_many_as_there_are():
    N, D, loss = noisy_rows()
    rows = read_rows(SCRATCH, {"N": N, "D": D}, loss, [f"{size:g}" for size in N])
    counts = draw_runs(rows, SCRATCH.variables, 500, seed=0)
    assert counts.shape == (500, 8)
    assert (counts.sum(1) == 8).all()
    assert counts.mean(0) == pytest.approx(1, abs=0.15)


def test_no_resample_has_a_single_size():
    N, D, loss = noisy_rows()
    N = np.where(N < 2e7, 1e7, 1e8)
    rows = read_rows(SCRATCH, {"N": N, "D": D}, loss, np.arange(48) // 6)
    counts = draw_runs(rows, SCRATCH.variables, 300, seed=0)
    assert ((counts[:, 0] > 0) & (counts[:, 0] < 8)).all()


def test_a_refit_from_the_point_estimate_ends_where_a_whole_search_does():
    N, D, loss = noisy_rows()
    rows = read_rows(SCRATCH, {"N": N, "D": D}, loss, None)
    problem = pose(SCRATCH, rows.variables, rows.loss, 1e-3)
    known = np.zeros(len(loss))
    theta = solve(problem, np.ones(len(loss)), known).theta[0]
    weights = draw_runs(rows, SCRATCH.variables, 20, seed=0)
    draws = refit(problem, theta, weights, known)
    for row, alpha in zip(weights, draws["alpha"], strict=True):
        searched = problem.params(solve(problem, row, known).theta[0])
        assert alpha == pytest.approx(searched["alpha"], rel=1e-6)


def test_checkpoints_taken_for_runs_make_intervals_too_narrow():
    N, D, loss = noisy_rows(0.0)
    shift = np.exp(0.02 * np.random.default_rng(5).standard_normal(8))
    loss = loss * np.repeat(shift, 6)
    by_run = fit_scratch(N, D, loss, np.arange(48) // 6, draws=200)
    by_row = fit_scratch(N, D, loss, draws=200)
    assert np.ptp(by_run.interval["alpha"]) > 1.3 * np.ptp(by_row.interval["alpha"])


def test_intervals_are_percentiles_by_name():
    assert intervals({"E": np.arange(1001.0)}) == {"E": (25.0, 975.0)}
    assert intervals({"E": np.empty(0)}) == {}
    with pytest.raises(UserError, match="no draws"):
        upright({}, 1)
