import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongues.laws import Law, allocate, fit_scratch
from tongues.laws.allocation import about_allocation

SCRATCH = {"E": 1.55, "A": 420.0, "B": 719.5, "alpha": 0.4, "beta": 0.3}
CPT = {"E": 1.55, "A": 420.0, "B": 433.3, "alpha": 0.4, "beta": 0.2, "gamma": 0.08}


def best_size(law, compute):
    """The N that minimises the law under C = 6 N D, by golden section in log N."""
    ratio = (5**0.5 - 1) / 2
    low, high = np.log(compute) / 2 - 60, np.log(compute) / 2 + 60
    for _ in range(120):
        one, other = high - ratio * (high - low), low + ratio * (high - low)
        losses = [slope_free(law, np.exp(size), compute) for size in (one, other)]
        low, high = (low, other) if losses[0] < losses[1] else (one, high)
    return np.exp((low + high) / 2)


def slope_free(law, N, compute):
    """The loss less E, the logarithm of which a section search can resolve."""
    p = law.params
    D, gamma = compute / (6 * N), p.get("gamma", 0.0)
    return np.logaddexp(
        np.log(p["A"]) - p["alpha"] * np.log(N),
        np.log(p["B"]) - p["beta"] * np.log(D) - gamma * np.log(N),
    )


def test_the_published_allocations():
    scratch, cpt = allocate(Law("scratch", SCRATCH)), allocate(Law("cpt", CPT))
    assert scratch is not None
    assert cpt is not None
    numbers = [round(x, 3) for x in (scratch.N_coef, scratch.a, scratch.D_coef, scratch.b)]
    assert numbers == [0.324, 0.429, 0.514, 0.571]
    assert round(cpt.N_coef, 2) == 4.79
    assert [round(x, 3) for x in (cpt.a, cpt.D_coef, cpt.b)] == [0.385, 0.035, 0.615]
    assert allocate(Law("scratch", {**SCRATCH, "alpha": 0.3})) is not None


@settings(deadline=None, max_examples=40)
@given(
    alpha=st.floats(0.1, 1),
    beta=st.floats(0.1, 1),
    part=st.floats(-0.5, 0.7),
    A=st.floats(1, 1e4),
    B=st.floats(1, 1e4),
    compute=st.floats(1e15, 1e25),
)
def test_the_closed_form_is_the_minimum(alpha, beta, part, A, B, compute):
    gamma = part * min(alpha, beta)
    params = {"E": 1.5, "A": A, "B": B, "alpha": alpha, "beta": beta, "gamma": gamma}
    law = Law("cpt", params)
    best = allocate(law)
    assert best is not None
    N, D = best.sizes(compute)
    assert pytest.approx(compute / (6 * N), rel=1e-9) == D
    assert best_size(law, compute) == pytest.approx(N, rel=1e-6)


@pytest.mark.parametrize("change", [{"gamma": 0.2}, {"gamma": 0.3}, {"alpha": 0.08}])
def test_without_an_interior_optimum_there_is_no_allocation(change):
    law = Law("cpt", CPT | change)
    assert allocate(law) is None
    (caution,) = about_allocation(law.params, {})
    assert caution.code == "no_interior_optimum"
    assert law.to_json()["allocation"] is None


def test_resamples_without_an_optimum_are_counted_and_left_out():
    draws = {name: np.full(100, value) for name, value in CPT.items()}
    draws["gamma"][:20] = 0.3
    law = Law("cpt", CPT, draws=draws)
    best = allocate(law)
    assert best is not None
    assert len(best.draws["a"]) == 80
    (caution,) = about_allocation(law.params, draws)
    assert caution.code == "optimum_in_doubt"
    assert caution.sentence.startswith("20%")


def test_intervals_come_from_the_draws_and_hold_the_point():
    N, D = (a.ravel() for a in np.meshgrid(np.geomspace(1e7, 1e9, 5), np.geomspace(1e8, 1e11, 6)))
    noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(30))
    law = fit_scratch(N, D, Law("scratch", SCRATCH).loss(N, D) * noise, draws=100)
    best = allocate(law)
    assert best is not None
    size, tokens = best.sizes(1e20)
    (low, high), (least, most) = best.sizes_interval(1e20)
    assert low < size < high
    assert least < tokens < most
    assert best.interval["a"][0] < best.a < best.interval["a"][1]
    assert high / low < best.interval["N_coef"][1] / best.interval["N_coef"][0]
