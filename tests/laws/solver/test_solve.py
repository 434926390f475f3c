import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.made import CHINCHILLA, CPT, grid, needs_runs, noise, published, read, rows_of
from tongues.laws import FORMS, Law
from tongues.laws.solver import descend, pose, solve

NAMES = ("epoch245", "epoch240", "gadre_c4", "gadre_rpj", "gadre_rw", "muennighoff_unique")


def fitted(form, N, D, loss, weights=None, delta=1e-3):
    """Parameters and optimum."""
    problem = pose(FORMS.find(form), {"N": N, "D": D}, loss, delta=delta)
    weights = np.ones(len(loss)) if weights is None else weights
    optimum = solve(problem, weights, problem.context({}))
    params = {name: float(value) for name, value in problem.params(optimum.theta[0]).items()}
    return params, optimum


@needs_runs
@pytest.mark.parametrize(
    ("name", "delta"),
    [*((name, 1e-3) for name in NAMES), ("epoch245", 1e-6), ("epoch240", 1e-6)],
)
def test_the_global_optimum_of_published_runs(name, delta):
    (reference,) = (
        row
        for row in read("reference_fits.csv")
        if row["dataset"] == name and float(row["delta"]) == delta
    )
    N, D, loss = published(name)
    assert len(loss) == int(reference["n"])
    params, optimum = fitted("chinchilla", N, D, loss, delta=delta)
    for parameter, value in params.items():
        assert value == pytest.approx(float(reference[parameter]), rel=1e-6)
    assert optimum.objective[0] == pytest.approx(
        float(reference["objective_sum_huber_log"]), rel=1e-12
    )
    assert optimum.gradient[0] < 1e-12


@settings(deadline=None, max_examples=20)
@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.floats(0.1, 10), st.integers(0, 99))
def test_units_of_size_tokens_and_loss_change_only_the_coefficients(of_N, of_D, of_loss, seed):
    rows = rows_of(CHINCHILLA, seed=seed, sizes=5, lengths=6)
    N, D, loss = rows["N"], rows["D"], rows["loss"]
    plain, before = fitted("chinchilla", N, D, loss)
    scaled, after = fitted("chinchilla", N * of_N, D * of_D, loss * of_loss)
    assert after.objective[0] == pytest.approx(before.objective[0], rel=1e-9)
    for name in ("alpha", "beta"):
        assert scaled[name] == pytest.approx(plain[name], rel=1e-6)
    assert scaled["E"] == pytest.approx(plain["E"] * of_loss, rel=1e-6)
    assert scaled["A"] == pytest.approx(plain["A"] * of_loss * of_N ** plain["alpha"], rel=1e-5)
    assert scaled["B"] == pytest.approx(plain["B"] * of_loss * of_D ** plain["beta"], rel=1e-5)


def test_a_weight_of_two_is_a_row_given_twice():
    rows = rows_of(CHINCHILLA, seed=1, sizes=4, lengths=6)
    columns = (rows["N"], rows["D"], rows["loss"])
    weights = np.random.default_rng(1).integers(1, 3, len(rows["N"]))
    once, _ = fitted("chinchilla", *columns, weights=weights)
    N, D, loss = (np.repeat(column, weights) for column in columns)
    twice, _ = fitted("chinchilla", N, D, loss)
    assert once == pytest.approx(twice, rel=1e-7)


def test_a_weight_of_zero_is_a_row_left_out():
    rows = rows_of(CHINCHILLA, seed=2)
    columns = (rows["N"], rows["D"], rows["loss"])
    kept = np.random.default_rng(2).random(len(rows["N"])) < 0.7
    without, _ = fitted("chinchilla", *columns, weights=kept.astype(float))
    N, D, loss = (column[kept] for column in columns)
    fewer, _ = fitted("chinchilla", N, D, loss)
    assert without == pytest.approx(fewer, rel=1e-7)


@pytest.mark.parametrize(
    ("form", "params", "spread"),
    [
        ("chinchilla", CHINCHILLA, 0.05),
        ("extended", CPT, 0.02),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_start_near_or_far_ends_lower(form, params, spread, seed):
    N, D = grid(5, 6)
    loss = Law(form, params).loss(N, D) * noise(len(N), spread, seed)
    problem = pose(FORMS.find(form), {"N": N, "D": D}, loss)
    best = solve(problem, np.ones(len(N)), problem.context({}))
    random = np.random.default_rng(seed)
    middle, width = best.theta[0], 0.2 * (problem.high - problem.low)
    near = middle + random.normal(0, 0.3, (15, len(middle)))
    far = middle + random.uniform(-1, 1, (15, len(middle))) * np.minimum(width, 3.0)
    ends = descend(
        problem, np.concatenate([near, far]), np.ones((1, len(N))), problem.context({}), rounds=100
    )
    assert np.nanmin(ends.objective) >= best.objective[0] * (1 - 1e-9)


def test_losses_with_outliers_are_fitted_to_the_rest():
    rows = rows_of(CHINCHILLA, spread=1e-4)
    loss = rows["loss"].copy()
    loss[[3, 17, 30, 41]] *= [1.5, 1.3, 0.9, 2.0]
    params, optimum = fitted("chinchilla", rows["N"], rows["D"], loss)
    assert params["alpha"] == pytest.approx(CHINCHILLA["alpha"], rel=0.02)
    assert params["beta"] == pytest.approx(CHINCHILLA["beta"], rel=0.02)
    assert optimum.gradient[0] < 1e-12
