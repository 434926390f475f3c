import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongues.laws.forms import CPT, SCRATCH
from tongues.laws.solve import descend, pose, solve

SCALING = Path(__file__).parents[2] / "../shared/data/scaling"
NAMES = ("epoch245", "epoch240", "gadre_c4", "gadre_rpj", "gadre_rw", "muennighoff_unique")
exponents = st.floats(0.1, 1.0)


def read(name):
    with (SCALING / name).open() as file:
        return list(csv.DictReader(file))


def data_set(name):
    """N, D, loss of one published set of runs, as the reference fits took them."""
    kind, _, part = name.partition("_")
    if kind == "gadre":
        table, column = read("gadre_104.csv"), "loss_c4_shard-{0000000"
        table = [row for row in table if row["dataset"].startswith(part)]
    elif kind == "muennighoff":
        table, column = read("muennighoff_c4_datablations.csv"), "loss"
        table = [row for row in table if row["D"] == row["unique_D"]]
    else:
        table, column = read("chinchilla_epoch_245.csv"), "loss"
        table = sorted(table, key=lambda row: float(row["loss"]))[: int(kind[-3:])]
    return tuple(np.array([float(row[name]) for row in table]) for name in ("N", "D", column))


def fit(form, N, D, loss, *, known: np.ndarray | float = 0.0, delta=1e-3):
    problem = pose(form, {"N": N, "D": D}, loss, delta)
    optimum = solve(problem, np.ones(len(loss)), np.broadcast_to(known, loss.shape))
    params = {name: float(value) for name, value in problem.params(optimum.theta[0]).items()}
    return params, optimum


def grid(sizes=6, lengths=8):
    N, D = np.meshgrid(np.geomspace(1e7, 1e10, sizes), np.geomspace(1e8, 1e12, lengths))
    return N.ravel(), D.ravel()


@pytest.mark.skipif(not SCALING.exists(), reason="the published runs are not on this machine")
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
    N, D, loss = data_set(name)
    assert len(loss) == int(reference["n"])
    params, optimum = fit(SCRATCH, N, D, loss, delta=delta)
    for parameter, value in params.items():
        assert value == pytest.approx(float(reference[parameter]), rel=1e-6)
    assert optimum.objective[0] == pytest.approx(
        float(reference["objective_sum_huber_log"]), rel=1e-12
    )
    assert optimum.gradient[0] < 1e-12


@settings(deadline=None, max_examples=40)
@given(exponents, exponents, st.floats(0.5, 3), st.floats(0.1, 2), st.floats(0.1, 2))
def test_noise_free_scratch_laws_are_recovered(alpha, beta, E, share_N, share_D):
    N, D = grid()
    truth = {"E": E, "A": share_N * 3e8**alpha, "B": share_D * 1e10**beta}
    truth |= {"alpha": alpha, "beta": beta}
    params, _ = fit(SCRATCH, N, D, SCRATCH.loss(truth, {"N": N, "D": D}))
    for name, value in truth.items():
        assert params[name] == pytest.approx(value, rel=1e-6), name


@settings(deadline=None, max_examples=40)
@given(exponents, exponents, st.floats(-0.3, 0.9), st.floats(0.1, 2))
def test_noise_free_cpt_laws_are_recovered(alpha, beta, gamma, share):
    N, D = grid()
    base = {"E": 1.5, "A": 0.5 * 3e8**alpha, "alpha": alpha}
    truth = {"B": share * 1e10**beta * 3e8**gamma, "beta": beta, "gamma": gamma}
    variables = {"N": N, "D": D}
    known = CPT.known(base, variables)
    params, _ = fit(CPT, N, D, CPT.loss(base | truth, variables), known=known)
    for name, value in truth.items():
        assert params[name] == pytest.approx(value, rel=1e-6, abs=1e-9), name


@settings(deadline=None, max_examples=20)
@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.floats(0.1, 10), st.integers(0, 99))
def test_units_of_size_tokens_and_loss_change_only_the_coefficients(of_N, of_D, of_loss, seed):
    N, D = grid(5, 6)
    truth = {"E": 1.6, "A": 400.0, "B": 2000.0, "alpha": 0.35, "beta": 0.37}
    noise = np.exp(0.01 * np.random.default_rng(seed).standard_normal(len(N)))
    loss = SCRATCH.loss(truth, {"N": N, "D": D}) * noise
    plain, before = fit(SCRATCH, N, D, loss)
    scaled, after = fit(SCRATCH, N * of_N, D * of_D, loss * of_loss)
    assert after.objective[0] == pytest.approx(before.objective[0], rel=1e-9)
    for name in ("alpha", "beta"):
        assert scaled[name] == pytest.approx(plain[name], rel=1e-6)
    assert scaled["E"] == pytest.approx(plain["E"] * of_loss, rel=1e-6)
    assert scaled["A"] == pytest.approx(plain["A"] * of_loss * of_N ** plain["alpha"], rel=1e-5)
    assert scaled["B"] == pytest.approx(plain["B"] * of_loss * of_D ** plain["beta"], rel=1e-5)


def test_gradient_and_curvature_are_the_slopes_of_the_objective():
    N, D = grid(4, 5)
    random = np.random.default_rng(0)
    loss = random.uniform(2, 4, len(N))
    problem = pose(SCRATCH, {"N": N, "D": D}, loss, 0.1)
    theta = np.array([0.5, 0.1, -0.2, 0.3, 0.4])
    weights, known = random.integers(0, 3, (1, len(N))), np.zeros((1, len(N)))
    step = 1e-5 * np.concatenate([np.eye(5), -np.eye(5)])
    moved = descend(problem, theta + step, weights, known, rounds=0)
    slope = (moved.objective[:5] - moved.objective[5:]) / 2e-5
    here = descend(problem, theta[None], weights, known, rounds=0)
    assert here.gradient[0] == pytest.approx(np.abs(slope).max(), rel=1e-8)
    second = moved.objective[:5] + moved.objective[5:] - 2 * here.objective
    np.testing.assert_allclose(np.diag(here.curvature[0]), second / 1e-10, rtol=1e-3)


def test_a_weight_of_two_is_a_row_given_twice():
    N, D = grid(4, 6)
    random = np.random.default_rng(1)
    loss = (1.5 + 400 / N**0.35 + 900 / D**0.35) * np.exp(0.01 * random.standard_normal(len(N)))
    weights = random.integers(1, 3, len(N))
    once = pose(SCRATCH, {"N": N, "D": D}, loss, 1e-3)
    first = once.params(solve(once, weights, np.zeros(len(N))).theta[0])
    twice = [np.repeat(column, weights) for column in (N, D, loss)]
    second, _ = fit(SCRATCH, *twice)
    for name, value in second.items():
        assert first[name] == pytest.approx(value, rel=1e-7)
