import itertools

import numpy as np
import pytest

from tongues.errors import UserError
from tongues.laws import Law, fit, preset
from tongues.laws.predict.design import next_runs


def fitted(sizes: list[float], noise: float = 0.004) -> Law:
    random = np.random.default_rng(3)
    N, D = (grid.ravel() for grid in np.meshgrid(sizes, [2e9, 8e9, 3e10], indexing="ij"))
    loss = preset("hoffmann2022").loss(N, D) * np.exp(noise * random.normal(size=len(N)))
    return fit("chinchilla", loss, N=N, D=D, draws=50)


def test_the_runs_that_narrow_most_come_first_and_cost_little() -> None:
    runs = next_runs(fitted([5e7, 1e8, 2e8]), 1e21)
    assert len(runs) == 3
    assert all(run.flops <= 1e20 and run.flops == pytest.approx(6 * run.N * run.D) for run in runs)
    for before, after in itertools.pairwise(runs):
        assert after.before == pytest.approx(before.after)
    assert all(run.after < run.before for run in runs)
    gains = [run.before - run.after for run in runs]
    assert gains[0] >= gains[-1]
    assert gains[0] > 0.02 * runs[0].before  # the candidate that tells least gains next to nothing


def test_a_predicted_gain_is_what_the_run_brings() -> None:
    """Adding the run narrows the interval there about as much as promised."""
    law = fitted([5e7, 1e8, 2e8])
    (run,) = next_runs(law, 1e21, count=1)
    assert law.rows
    N = np.append(law.rows.variables["N"], run.N)
    D = np.append(law.rows.variables["D"], run.D)
    truth = float(preset("hoffmann2022").loss(run.N, run.D))
    again = fit("chinchilla", np.append(law.rows.loss, truth), N=N, D=D, draws=50)
    wide, narrow = (one.predict(2e9, 1e21 / 6 / 2e9) for one in (law, again))
    before, after = (float(one.high[0] - one.low[0]) for one in (wide, narrow))
    assert after < before


def test_a_law_without_runs_or_a_small_target_is_refused() -> None:
    with pytest.raises(UserError, match="no_design"):
        next_runs(preset("hoffmann2022"), 1e21)
    with pytest.raises(UserError, match="ask for a larger run"):
        next_runs(fitted([5e7, 1e8, 2e8]), 1e16)
