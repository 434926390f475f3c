import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.golden import inputs
from tests.laws.made import CPT, grid
from tongues.laws import FORMS, Law
from tongues.laws.solver import descend, pose, solve

exponents = st.floats(0.1, 1.0)
shares = st.floats(0.1, 2.0)


def recovered(form, truth, taken=()):
    N, D = grid()
    variables = {"N": N, "D": D}
    problem = pose(FORMS.find(form), variables, Law(form, truth).loss(N, D))
    context = problem.context({name: np.array([truth[name]]) for name in taken})
    return problem.params(solve(problem, np.ones(len(N)), context).theta[0])


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["chinchilla", "cpt", "extended"]),
    *(exponents, exponents, st.floats(-0.3, 0.9), st.floats(0.5, 3), shares, shares),
)
@example("extended", 0.25, 0.5078125, 0.431640625, 1.0, 0.25, 2.0)  # its lowest starts are all one
def test_noise_free_laws_are_recovered(form, alpha, beta, gamma, E, share_N, share_D):
    gamma = 0.0 if form == "chinchilla" else gamma
    truth = {"E": E, "A": share_N * 3e8**alpha, "B": share_D * 1e10**beta * 3e8**gamma}
    truth |= {"alpha": alpha, "beta": beta} | ({"gamma": gamma} if form != "chinchilla" else {})
    taken = FORMS.find(form).taken_names
    params = recovered(form, truth, taken)
    for name in set(truth).difference(taken):
        rel = 1e-5 if form == "extended" else 1e-6
        assert params[name] == pytest.approx(truth[name], rel=rel, abs=1e-8), name


def made_problem(form, fixed):
    """Rows with random losses, a weight of 0 to 2 each, and coordinates away from any optimum."""
    N, D = grid(4, 5)
    random = np.random.default_rng(0)
    problem = pose(FORMS.find(form), {"N": N, "D": D}, random.uniform(2, 4, len(N)), fixed, 0.1)
    taken = {name: np.array([CPT[name]]) for name in FORMS.find(form).taken_names}
    weights = random.integers(0, 3, (1, len(N))).astype(float)
    return problem, weights, problem.context(taken)


@pytest.mark.parametrize(
    ("form", "fixed"), inputs("rows")["test_gradient_and_curvature_are_the_slopes_of_the_objective"]
)
def test_gradient_and_curvature_are_the_slopes_of_the_objective(form, fixed):
    problem, weights, context = made_problem(form, fixed)
    size = len(problem.names)
    start = {"E": 0.5, "A": 0.1, "B": -0.2, "alpha": 0.3, "beta": 0.4, "gamma": 0.1}
    theta = np.array([start[name] for name in problem.names])
    here = descend(problem, theta[None], weights, context, rounds=0)

    def height(steps):
        return descend(problem, theta + steps, weights, context, rounds=0).objective

    step = 1e-6 * np.eye(size)
    slope = (height(step) - height(-step)) / 2e-6
    assert here.gradient[0] == pytest.approx(np.abs(slope).max(), rel=1e-6)
    predicted, inner = problem.look(theta[None], context)
    pull = weights * np.clip(predicted - problem.log_loss, -problem.delta, problem.delta)
    np.testing.assert_allclose(problem.gradient(inner, pull)[0], slope, rtol=1e-6, atol=1e-6)
    pairs = 1e-4 * (np.eye(size)[:, None] + np.eye(size)[None]).reshape(-1, size)
    both = ((height(pairs) + height(-pairs) - 2 * here.objective) / 1e-8).reshape(size, size)
    curvature = here.curvature[0]
    diagonal = np.diag(curvature)
    expected = 2 * curvature + diagonal[:, None] + diagonal[None]  # (e_i + e_j) H (e_i + e_j)
    np.testing.assert_allclose(both, expected, rtol=1e-2, atol=1e-3 * diagonal.max())
