import numpy as np
import pytest

from tests.laws.made import noise
from tongues import laws
from tongues.laws import FORMS
from tongues.laws.rows import draw_runs, read_rows
from tongues.laws.solver import pose, solve
from tongues.laws.uncertainty import bootstrap_intervals, refit

FORM = FORMS.find("chinchilla")
N = np.repeat(np.geomspace(1e7, 1e10, 8), 6)
D = np.tile(np.geomspace(1e8, 1e11, 6), 8)
LOSS = 1.5 + 400 / N**0.35 + 900 / D**0.35
SIZES = np.arange(48) // 6


def rows_of(runs=None, sizes=N):
    loss = LOSS * noise(48, 0.01)
    return read_rows(FORM, {"N": sizes, "D": D}, loss, runs, len(FORM.free))


def test_runs_are_drawn_whole_and_as_many_as_there_are():
    counts = draw_runs(rows_of(SIZES), FORM, 500)
    assert counts.shape == (500, 8)
    assert (counts.sum(1) == 8).all()
    assert counts.mean(0) == pytest.approx(1, abs=0.15)


def test_no_resample_has_a_single_size():
    rows = rows_of(SIZES, sizes=np.where(N < 2e7, 1e7, 1e8))
    counts = draw_runs(rows, FORM, 300)
    assert ((counts[:, 0] > 0) & (counts[:, 0] < 8)).all()


def test_two_runs_are_not_resampled():
    counts = draw_runs(rows_of(np.arange(48) % 2), FORM, 300)
    assert counts.shape == (0, 2)


def test_a_refit_in_a_batch_ends_where_a_whole_search_does_and_a_refit_alone():
    rows = rows_of()
    problem = pose(FORM, rows.variables, rows.loss)
    context = problem.context({})
    theta = solve(problem, np.ones(48), context).theta[0]
    weights = draw_runs(rows, FORM, 70)
    together = refit(problem, theta, weights, context)
    for i in (0, 9, 63, 64, 69):
        searched = problem.params(solve(problem, weights[i], context).theta[0])
        assert together["alpha"][i] == pytest.approx(searched["alpha"], rel=1e-4)
        alone = refit(problem, theta, weights[[i]], context)
        for name, values in together.items():
            assert alone[name][0] == pytest.approx(values[i], rel=1e-9)


def test_checkpoints_taken_for_runs_make_intervals_too_narrow():
    loss = LOSS * np.repeat(noise(8, 0.02, seed=5), 6)
    by_run = laws.fit("chinchilla", loss, SIZES, N=N, D=D, draws=60)
    by_row = laws.fit("chinchilla", loss, N=N, D=D, draws=60)
    assert np.ptp(by_run.interval["alpha"]) > 1.3 * np.ptp(by_row.interval["alpha"])


def test_most_intervals_hold_the_truth():
    truth = {"E": 1.5, "alpha": 0.35, "beta": 0.35}
    held = []
    for seed in range(12):
        law = laws.fit("chinchilla", LOSS * noise(48, 0.01, seed), N=N, D=D, draws=60)
        held += [law.interval[n][0] <= value <= law.interval[n][1] for n, value in truth.items()]
    assert np.mean(held) > 0.8  # 95 % of so few, with room for chance


def test_intervals_are_percentiles_by_name():
    low, high = bootstrap_intervals({"E": np.arange(1001.0)}, {"E": 500.0})["E"]
    assert (low, high) == (pytest.approx(25.0), pytest.approx(975.0))
    assert bootstrap_intervals({"E": np.empty(0)}, {"E": 500.0}) == {}


def test_a_point_above_most_draws_shifts_the_interval_up():
    draws = {"E": np.arange(1001.0)}
    plain, shifted = (bootstrap_intervals(draws, {"E": point})["E"] for point in (500.0, 700.0))
    assert shifted[0] > plain[0] and shifted[1] > plain[1]
