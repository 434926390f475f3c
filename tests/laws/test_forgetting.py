import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongues import laws
from tongues.laws import Law
from tongues.laws.forms import FORMS
from tongues.laws.solver import pose

FAR = {"F": 300.0, "A": 0.37, "kappa": 0.17, "W": 0.2, "B": 3e5, "beta": 0.1}
SHARES = (0.0, 0.01, 0.05, 0.2, 0.5, 0.8)


def study(params, shares=SHARES, starts=(3.13, 2.9), tokens=8e5, evaluations=14):
    """The rows of runs with these shares, evaluated past their warm-up."""
    D = np.geomspace(0.1 * tokens, tokens, evaluations)
    r, S, D = (grid.ravel() for grid in np.meshgrid(shares, starts, D, indexing="ij"))
    return {"D": D, "r": r, "S": S, "loss": Law("forgetting", params).loss(D=D, r=r, S=S)}


@pytest.mark.parametrize("r", [0.0, 0.05, 1.0])
def test_the_law_is_its_formula(r):
    D, S, p = np.geomspace(1e-9, 1e9, 20), 3.0, FAR
    left = (p["F"] + r * D) / (p["F"] + D)
    source = (S + p["W"] * D / (p["F"] + D)) * (1 + D / p["B"]) ** -p["beta"]
    expected = source + p["A"] * (left ** -p["kappa"] - 1) / p["kappa"]
    np.testing.assert_allclose(Law("forgetting", p).loss(D=D, r=r, S=S), expected, rtol=1e-13)


def test_a_small_kappa_charges_for_each_factor_of_the_share_alike():
    law = Law("forgetting", {**FAR, "kappa": 1e-9, "W": 1e-12, "B": 1e30})
    cost = law.loss(D=1e9, r=np.array([0.01, 0.1]), S=2.4)
    assert cost[0] - cost[1] == pytest.approx(FAR["A"] * np.log(10), rel=1e-3)


@settings(max_examples=8, deadline=None)
@given(
    memory=st.floats(2e-4, 2e-2),
    A=st.floats(0.1, 1.0),
    kappa=st.floats(0.02, 0.5),
    W=st.floats(0.05, 0.6),
    worth=st.floats(0.1, 3.0),
)
def test_noise_free_laws_are_recovered(memory, A, kappa, W, worth):
    truth = {"F": memory * 8e5, "A": A, "kappa": kappa, "W": W, "B": worth * 8e5, "beta": 0.095}
    rows = study(truth)
    law = laws.fit("forgetting", draws=0, **rows)
    np.testing.assert_allclose(law.loss(D=rows["D"], r=rows["r"], S=rows["S"]), rows["loss"], 1e-6)
    for name, value in truth.items():
        assert law.params[name] == pytest.approx(value, rel=1e-3)


@settings(max_examples=25, deadline=None)
@given(
    place=st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6),
    share=st.floats(0.0, 1.0),
    tokens=st.floats(1.0, 1e12),
)
def test_slopes_are_finite_wherever_it_is_searched(place, share, tokens):
    variables = {"D": np.array([tokens, 2e9]), "r": np.array([share, 0.1]), "S": np.full(2, 2.5)}
    problem = pose(FORMS.find("forgetting"), variables, np.array([2.5, 3.0]))
    theta = problem.low + np.array(place) * (problem.high - problem.low)
    value, slopes = problem.look(theta[None], problem.context({}))
    assert np.isfinite(value).all()
    assert np.isfinite(slopes).all()
    step = 1e-5
    for index in range(6):
        moved = theta + step * np.eye(6)[index]
        higher = problem.look(moved[None], problem.context({}))[0]
        lower = problem.look(2 * theta[None] - moved[None], problem.context({}))[0]
        numeric = (higher - lower) / (2 * step)
        np.testing.assert_allclose(slopes[..., index], numeric, rtol=1e-3, atol=1e-4)
