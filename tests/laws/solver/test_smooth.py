import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.made import CHINCHILLA, grid
from tongues.laws import FORMS, Law
from tongues.laws.solver import descend, pose, solve

exponents = st.floats(0.1, 1.0)
shares = st.floats(0.1, 2.0)
POINTS = {
    "experts": {"F": 1.9, "D_0": 1e6, "beta": 0.3, "G": 1.5},
    "data-constrained": {**CHINCHILLA, "R_D": 15.0, "R_N": 5.0},
    "forgetting": {"F": 1e8, "A": 0.3, "kappa": 0.2, "W": 0.05, "B": 1e10, "beta": 0.095},
}


def variables_of(form):
    if form in ("chinchilla", "extended"):
        return dict(zip("ND", grid(), strict=True))
    if form == "experts":
        axes = (np.geomspace(1e5, 1e8, 6), [4.2, 5.0], [1, 2, 4, 8])
        return dict(zip("DSk", (axis.ravel() for axis in np.meshgrid(*axes)), strict=True))
    if form == "data-constrained":
        axes = (np.geomspace(1e7, 1e10, 4), np.geomspace(1e8, 1e12, 6), np.geomspace(1e8, 1e10, 3))
        return dict(zip("NDU", (axis.ravel() for axis in np.meshgrid(*axes)), strict=True))
    axes = (np.geomspace(1e7, 1e11, 6), [0, 0.02, 0.1, 0.5], [2.2, 2.9])
    return dict(zip("DrS", (axis.ravel() for axis in np.meshgrid(*axes)), strict=True))


def posed(form, truth, delta=1e-3):
    """Noise-free rows of a law, and what its taken parameters mean for them."""
    variables = variables_of(form)
    problem = pose(FORMS.find(form), variables, Law(form, truth).loss(**variables), delta=delta)
    taken = {name: np.array([truth[name]]) for name in FORMS.find(form).taken_names}
    return problem, problem.context(taken)


def free(problem, point):
    """The coordinates of a point."""
    return np.log([point[name] for name in problem.names])


def recovered(form, truth):
    problem, context = posed(form, truth)
    optimum = solve(problem, np.ones(len(problem.log_loss)), context)
    return problem.params(optimum.theta[0])


@settings(deadline=None, max_examples=25)
@given(exponents, exponents, shares, st.floats(7.5, 9), st.floats(1, 60), st.floats(1, 60))
def test_noise_free_data_constrained_laws_are_recovered(
    alpha, beta, share, warranted, of_tokens, of_sizes
):
    # 1e9 unique tokens warrant 10^warranted parameters, so that some rows have more than that
    gain = (10**warranted / 1e9 ** (beta / alpha)) ** (alpha / (alpha + beta))
    A = share * 3e8**alpha
    truth = {"E": 1.7, "A": A, "B": alpha * A / (beta * gain ** (alpha + beta))}
    truth |= {"alpha": alpha, "beta": beta, "R_D": of_tokens, "R_N": of_sizes}
    params = recovered("data-constrained", truth)
    assert params["R_D"] == pytest.approx(of_tokens, rel=1e-6)
    assert params["R_N"] == pytest.approx(of_sizes, rel=1e-6)


@pytest.mark.parametrize("form", POINTS)
def test_slopes_are_those_of_the_objective(form):
    problem, context = posed(form, POINTS[form], delta=0.05)
    theta = free(problem, POINTS[form]) + 0.03 * np.arange(1, len(problem.names) + 1)
    size = len(theta)
    weights = np.random.default_rng(0).integers(0, 3, (1, len(problem.log_loss))).astype(float)
    step = 1e-5 * np.concatenate([np.eye(size), -np.eye(size)])
    moved = descend(problem, theta + step, weights, context, rounds=0).objective
    slope = (moved[:size] - moved[size:]) / 2e-5
    predicted, inner = problem.look(theta[None], context)
    pull = weights * np.clip(predicted - problem.log_loss, -0.05, 0.05)
    np.testing.assert_allclose(
        problem.gradient(inner, pull)[0], slope, rtol=1e-5, atol=1e-7 * np.abs(slope).max()
    )


@pytest.mark.parametrize("form", POINTS)
def test_at_a_perfect_fit_the_curvature_is_exact(form):
    problem, context = posed(form, POINTS[form], delta=10.0)
    theta, size = free(problem, POINTS[form]), len(problem.names)
    weights = np.ones((1, len(problem.log_loss)))
    step = 1e-4 * np.concatenate([np.eye(size), -np.eye(size)])
    moved = descend(problem, theta + step, weights, context, rounds=0).objective
    here = descend(problem, theta[None], weights, context, rounds=0)
    assert here.objective[0] < 1e-25
    second = (moved[:size] + moved[size:]) / 1e-8
    np.testing.assert_allclose(np.diag(here.curvature[0]), second, rtol=1e-3)


@pytest.mark.parametrize(("form", "point"), POINTS.items())
def test_coordinates_and_parameters_are_two_names_of_one_point(form, point):
    problem, context = posed(form, point)
    theta = free(problem, point)
    params = problem.params(theta)
    for name, value in params.items():
        assert value == pytest.approx(point[name], rel=1e-12)
    np.testing.assert_allclose(problem.look(theta[None], context)[0][0], problem.log_loss)
