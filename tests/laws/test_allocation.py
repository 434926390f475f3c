import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.golden import golden
from tests.laws.made import CHINCHILLA, rows_of
from tongues import laws
from tongues.laws import Law, allocate, preset
from tongues.laws.cautions import about_allocation

ZHENG = preset("zheng2024-cpt").params


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
    assume(1 < N < 1e24)  # where the search looks
    assert pytest.approx(compute / (6 * N), rel=1e-9) == D
    # Near its minimum a loss changes by the square of the distance: rounding hides more than this.
    assert best_size(law, compute) == pytest.approx(N, rel=1e-5)


@pytest.mark.parametrize("change", [{"gamma": 0.2}, {"gamma": 0.3}, {"alpha": 0.08}])
def test_without_an_interior_optimum_there_is_no_allocation(change):
    law = Law("cpt", ZHENG | change)
    assert allocate(law) is None
    (caution,) = about_allocation(law.equation, law.params, {})
    assert caution.code == "no_interior_optimum"
    assert law.to_json()["allocation"] is None


@pytest.mark.parametrize("name", ["zheng2024-scratch-compute", "zheng2024-cpt-compute"])
def test_a_law_of_compute_has_no_allocation_and_no_caution_about_it(name):
    law = preset(name)
    assert allocate(law) is None
    assert not list(about_allocation(law.equation, law.params, {}))


def test_resamples_without_an_optimum_are_counted_and_left_out():
    draws = {name: np.full(100, value) for name, value in ZHENG.items()}
    draws["gamma"][:20] = 0.3
    law = Law("cpt", dict(ZHENG), draws=draws)
    best = allocate(law)
    assert best is not None
    assert len(best.draws["a"]) == 80
    (caution,) = about_allocation(law.equation, law.params, draws)
    assert caution.code == "optimum_in_doubt"
    golden("cautions/best sizes in doubt", caution.sentence)


def test_text_without_repeats_is_allocated_as_by_its_base():
    shared = {**CHINCHILLA, "R_D": 15.0, "R_N": 5.0}
    plain, limited = (
        allocate(Law("chinchilla", CHINCHILLA)),
        allocate(Law("data-constrained", shared)),
    )
    assert plain is not None and limited is not None
    assert plain.to_json() == limited.to_json()


def test_intervals_come_from_the_draws_and_hold_the_point():
    best = allocate(laws.fit("chinchilla", **rows_of(CHINCHILLA), draws=100))
    assert best is not None
    size, tokens = best.sizes(1e20)
    (low, high), (least, most) = best.sizes_interval(1e20)
    assert low < size < high
    assert least < tokens < most
    assert low * most == pytest.approx(1e20 / 6, rel=1e-3)
    assert best.interval["a"][0] < best.a < best.interval["a"][1]
    assert high / low < best.interval["N_coef"][1] / best.interval["N_coef"][0]
    assert best.to_json()["interval"]["a"] == list(best.interval["a"])
