import math

import numpy as np
import pytest

from tongues.errors import UserError
from tongues.laws import Law, allocate, fit_cpt, fit_scratch

TRUTH = {"E": 1.5, "A": 40.0, "B": 300.0, "alpha": 0.35, "beta": 0.4}
CPT_TRUTH = {"E": 1.5, "A": 40.0, "B": 80.0, "alpha": 0.35, "beta": 0.25, "gamma": 0.05}


def small_runs(law, noise=0.0, sizes=(1e5, 3e5, 1e6, 3e6), seed=0):
    """One run a size, eight checkpoints each."""
    N = np.repeat(sizes, 8)
    D = np.tile(np.geomspace(1e6, 4e7, 8), len(sizes))
    runs = [f"{size:g}" for size in N]
    error = np.random.default_rng(seed).standard_normal(len(N))
    return N, D, law.loss(N, D) * np.exp(noise * error), runs


def codes(law):
    return {warning.code for warning in law.warnings}


def test_a_known_scratch_law_comes_back():
    N, D, loss, runs = small_runs(Law("scratch", TRUTH))
    law = fit_scratch(N, D, loss, runs, draws=20)
    assert law.params == pytest.approx(TRUTH, rel=1e-8)
    assert (law.n_rows, law.n_runs, law.delta) == (32, 4, 1e-3)
    assert law.range == {"N": (1e5, 3e6), "D": (1e6, 4e7), "loss": (loss.min(), loss.max())}
    assert codes(law) == {"few_runs"}


def test_a_known_cpt_law_comes_back_on_its_base():
    base = Law("scratch", TRUTH)
    N, D, loss, runs = small_runs(Law("cpt", CPT_TRUTH))
    law = fit_cpt(N, D, loss, base, runs, draws=20)
    assert law.params == pytest.approx(CPT_TRUTH, rel=1e-8)
    assert "base_without_draws" in codes(law)


def test_a_cpt_interval_carries_the_uncertainty_of_its_base():
    N, D, loss, runs = small_runs(Law("scratch", TRUTH), noise=0.003)
    sure, unsure = Law("scratch", TRUTH), fit_scratch(N, D, loss, runs, draws=200)
    N, D, loss, runs = small_runs(Law("cpt", CPT_TRUTH), noise=0.003, seed=1)
    narrow = fit_cpt(N, D, loss, sure, runs, draws=200)
    wide = fit_cpt(N, D, loss, unsure, runs, draws=200)
    for name in ("B", "beta", "gamma"):
        assert np.ptp(wide.interval[name]) > np.ptp(narrow.interval[name])
    np.testing.assert_array_equal(wide.draws["alpha"], unsure.draws["alpha"])
    assert wide.interval["E"] == unsure.interval["E"]


def test_the_same_seed_gives_the_same_law():
    rows = small_runs(Law("scratch", TRUTH), noise=0.01)
    first, again, other = (fit_scratch(*rows, draws=50, seed=seed) for seed in (1, 1, 2))
    assert first.to_json() == again.to_json()
    assert first.interval != other.interval
    assert first.params == other.params


@pytest.mark.parametrize("seed", range(5))
def test_noisy_runs_of_few_sizes_give_cautions_and_finite_numbers(seed):
    rows = small_runs(Law("scratch", TRUTH), noise=0.1, sizes=(1e5, 2e5, 4e5), seed=seed)
    law = fit_scratch(*rows, draws=100)
    assert {"few_sizes", "few_runs"} <= codes(law)
    assert all(np.isfinite(values).all() for values in law.draws.values())
    assert all(math.isfinite(value) for value in law.params.values())
    assert law.gradient_norm < 1e-9


def test_two_runs_give_a_law_without_intervals():
    law = fit_scratch(*small_runs(Law("scratch", TRUTH), noise=0.01, sizes=(1e5, 1e6)))
    assert law.interval == {}
    assert {"few_sizes", "no_intervals", "ill_conditioned"} <= codes(law)


def test_sizes_and_tokens_that_grew_together_are_told():
    N = np.geomspace(1e5, 1e8, 10)
    law = fit_scratch(N, 20 * N, Law("scratch", TRUTH).loss(N, 20 * N), draws=0)
    assert "sizes_and_tokens_together" in codes(law)


def test_losses_without_a_floor_are_told():
    N, D, _, runs = small_runs(Law("scratch", TRUTH))
    law = fit_scratch(N, D, 40 / N**0.25 + 300 / D**0.4, runs, draws=0)
    assert "zero_E" in codes(law)
    assert law.params["E"] < 1e-3


@pytest.mark.parametrize("shape", ["constant", "rising", "random"])
def test_losses_no_law_describes_are_cautioned_not_crashed_on(shape):
    N, D, _, runs = small_runs(Law("scratch", TRUTH))
    random = np.random.default_rng(0).uniform(1, 9, len(N))
    loss = {"constant": np.full(len(N), 3.0), "rising": 1 + D**0.1, "random": random}[shape]
    law = fit_scratch(N, D, loss, runs, draws=50)
    assert codes(law) & {"at_bound", "zero_E", "ill_conditioned"}


def test_continued_runs_below_their_base_are_told_and_have_no_allocation():
    N, D, _, runs = small_runs(Law("scratch", TRUTH))
    base = Law("scratch", TRUTH)
    law = fit_cpt(N, D, np.full(len(N), 1.2), base, runs, draws=20)
    assert {"below_base", "at_bound", "no_interior_optimum"} <= codes(law)
    assert allocate(law) is None


@pytest.mark.parametrize(
    ("change", "where", "reason"),
    [
        ({"loss": -1.0}, "loss", "positive and finite, but row 3 is -1"),
        ({"N": 0.0}, "N", "positive and finite, but row 3 is 0"),
        ({"D": math.nan}, "D", "positive and finite, but row 3 is nan"),
        ({"D": math.inf}, "D", "positive and finite, but row 3 is inf"),
    ],
)
def test_a_bad_value_is_refused_with_its_row(change, where, reason):
    N, D, loss, _ = small_runs(Law("scratch", TRUTH))
    columns = {"N": N, "D": D, "loss": loss}
    for name, value in change.items():
        columns[name][3] = value
    with pytest.raises(UserError, match=reason) as caught:
        fit_scratch(**columns)
    assert caught.value.where == where


def test_tables_that_cannot_hold_a_law_are_refused():
    N, D, loss, runs = small_runs(Law("scratch", TRUTH))
    with pytest.raises(UserError, match="differ in length: N 32, D 31, loss 32, runs 32"):
        fit_scratch(N, D[1:], loss, runs)
    with pytest.raises(UserError, match="5 rows are too few for the scratch law, which needs 6"):
        fit_scratch(N[:5], D[:5], loss[:5])
    with pytest.raises(UserError, match="at least two model sizes"):
        fit_scratch(N[:8], D[:8], loss[:8])
    with pytest.raises(UserError, match="at least two token counts"):
        fit_scratch(np.arange(1.0, 9.0), np.ones(8), np.ones(8))
    with pytest.raises(UserError, match="delta must be positive"):
        fit_scratch(N, D, loss, delta=0)
    with pytest.raises(UserError, match="a scratch law, not cpt"):
        fit_cpt(N, D, loss, Law("cpt", CPT_TRUTH))
