import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.made import SMALL, SMALL_CPT
from tongues.errors import UserError
from tongues.laws import Curve, Law, params_for, preset, savings, tokens_for

SIZE = 1e6


def power_curve(A, tokens, exponent=0.2):
    tokens = np.asarray(tokens, dtype=float)
    return Curve(tokens, 6 * SIZE * tokens, A / tokens**exponent)


def curve(tokens, loss):
    tokens = np.asarray(tokens, dtype=float)
    return Curve(tokens, 6 * SIZE * tokens, np.asarray(loss))


def last(scratch, cpt):
    """The saving at the lowest loss both reached."""
    return savings(scratch, cpt).points[-1]


@given(st.floats(0.5, 0.99) | st.floats(1.01, 1.2), st.integers(5, 40))
def test_a_power_law_k_times_cheaper_saves_its_share_everywhere(ratio, points):
    # loss A/D^g at ratio * A is reached with ratio^(1/g) of the tokens
    tokens = np.geomspace(1e6, 1e10, points)
    found = savings(power_curve(100, tokens), power_curve(100 * ratio, tokens))
    expected = 1 - ratio ** (1 / 0.2)
    for point in found.points:
        if point.at_least:
            assert point.share <= expected + 1e-9
        else:
            assert point.share == pytest.approx(expected, rel=1e-6)
            assert point.transferred == pytest.approx(expected * point.tokens_scratch, rel=1e-6)
    assert found.warnings == () or ratio > 1


def test_the_end_of_the_scratch_run_is_compared():
    tokens = np.geomspace(1e6, 1e9, 10)
    saving = last(power_curve(100, tokens), power_curve(90, tokens))
    assert saving.tokens_scratch == pytest.approx(1e9)
    assert saving.tokens_cpt == pytest.approx(1e9 * 0.9**5)
    assert saving.share == pytest.approx(1 - 0.9**5)
    assert saving.compute_cpt / saving.tokens_cpt == pytest.approx(6 * SIZE)


def test_a_continued_run_there_at_its_first_measure_saved_at_least_so_much():
    saving = last(curve([10, 100], [4, 3]), curve([20, 100], [2.9, 2.5]))
    assert saving.at_least
    assert saving.tokens_cpt == 20
    assert str(saving) == "≥ 80.0% of the compute saved at loss 3.0000"


def test_before_any_training_is_a_point_too():
    saving = last(curve([0, 100], [4, 3]), curve([0, 100], [3, 2.5]))
    assert (saving.share, saving.at_least) == (1.0, False)
    saving = last(curve([0, 100], [4, 3]), curve([0, 100], [3.5, 2]))
    assert saving.tokens_cpt == pytest.approx(100 * np.log(3.5 / 3) / np.log(3.5 / 2))


def test_a_continued_run_that_never_gets_there_is_a_caution():
    through = savings(curve([10, 100], [4, 3]), curve([10, 100], [3.9, 3.2]))
    assert [point.loss for point in through.points] == [3.9, 3.2]
    assert {warning.code for warning in through.warnings} == {"not_reached"}
    found = savings(curve([10, 100], [4, 3]), curve([10, 100], [9, 8]))
    assert found.points == ()
    assert {warning.code for warning in found.warnings} == {"no_common_loss", "not_reached"}


def test_a_loss_that_rises_on_the_way_counts_from_its_lowest():
    bumpy = curve([10, 100, 1000, 10000], [4, 3, 3.5, 2])
    saving = last(curve([10, 20000], [5, 2.5]), bumpy)
    assert 1000 < saving.tokens_cpt < 10000


@pytest.mark.parametrize(
    ("tokens", "loss", "reason"),
    [
        ([1, 2], [3, -1], "positive"),
        ([2, 1], [3, 2], "must grow"),
        ([0, 0], [3, 2], "must grow"),
        ([1, 2, 3], [3, 2], "3 tokens but 2 losses"),
        ([], [], "at least one point"),
    ],
)
def test_what_is_no_curve_is_refused(tokens, loss, reason):
    with pytest.raises(UserError, match=reason):
        curve(tokens, loss)


@settings(deadline=None, max_examples=60)
@given(
    *(st.floats(*ends) for ends in ((0.1, 1), (0.1, 1), (-0.3, 0.5), (0.1, 2), (7, 10), (8, 12)))
)
def test_tokens_for_a_loss_are_those_that_give_it(alpha, beta, gamma, share, size, tokens):
    params = {"E": 1.5, "A": 0.5 * 3e8**alpha, "B": share * 1e10**beta * 3e8**gamma}
    law = Law("extended", params | {"alpha": alpha, "beta": beta, "gamma": gamma})
    N, D = 10**size, 10**tokens
    loss = law.loss(N, D)
    left = float(loss) - 1.5 - params["A"] / N**alpha
    lost = 1e-15 * float(loss) / left / beta  # digits the other terms leave
    assert tokens_for(law, N, loss) == pytest.approx(D, rel=max(1e-9, lost))


def test_tokens_for_a_loss_out_of_reach_never_end():
    law = preset("zheng2024-scratch")
    floor = 1.55 + 420 / 1e8**0.4
    assert (tokens_for(law, 1e8, [floor, 1.0]) == np.inf).all()
    assert np.isfinite(tokens_for(law, 1e8, floor + 1e-6))
    sizes = np.array([1e8, 1e9])
    np.testing.assert_allclose(law.loss(sizes, tokens_for(law, sizes, 2.5)), 2.5)


def test_laws_of_other_variables_have_no_tokens_at_a_size():
    for law in (preset("zheng2024-cpt-compute"), preset("muennighoff2023")):
        with pytest.raises(UserError, match=law.form):
            tokens_for(law, 1e9, 2.5)


@pytest.mark.parametrize("gamma", [None, 0.0, 0.05, 0.2])
def test_the_parameters_to_a_loss_give_that_loss(gamma):
    law = Law("chinchilla", SMALL) if gamma is None else Law("cpt", SMALL_CPT | {"gamma": gamma})
    D = np.array([1e6, 1e7, 1e9])
    loss = law.loss(3e6, D)
    np.testing.assert_allclose(params_for(law, D, loss), 3e6, rtol=1e-9)
    assert params_for(law, 1e12, 1.2) == np.inf  # below the floor
    floor = SMALL["E"] + SMALL["A"] / 1e9 ** SMALL["alpha"]
    assert params_for(law, np.inf, floor) == pytest.approx(1e9)
    with pytest.raises(UserError, match="not inverted") as refused:
        params_for(preset("zheng2024-cpt-compute"), 1e9, 3.0)
    assert "chinchilla, extended, cpt" in refused.value.hint


def test_of_a_rising_joint_term_only_the_falling_part_counts():
    law = Law("cpt", SMALL_CPT | {"gamma": -0.05})
    N = np.geomspace(1.0, 1e12, 20000)
    losses = law.loss(N, 1e7)
    best = int(losses.argmin())
    assert 0 < best < len(N) - 1
    assert params_for(law, 1e7, float(losses[best]) + 1e-6) <= N[best] * 1.01
    assert params_for(law, 1e7, float(losses[best]) - 1e-6) == np.inf
