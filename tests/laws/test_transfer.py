import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import inputs
from tongues.core.errors import UserError
from tongues.laws import Curve, savings

SIZE = 1e6


def power_curve(A, tokens, exponent=0.2):
    tokens = np.asarray(tokens, dtype=float)
    return Curve(tokens, 6 * SIZE * tokens, A / tokens**exponent)


def curve(tokens, loss):
    tokens = np.asarray(tokens, dtype=float)
    return Curve(tokens, 6 * SIZE * tokens, np.asarray(loss))


def last(scratch, cpt):
    """The saving at the lowest loss both reached."""
    return savings(scratch, cpt)[-1]


@given(st.floats(0.5, 0.99) | st.floats(1.01, 1.2), st.integers(5, 40))
def test_a_power_law_k_times_cheaper_saves_its_share_everywhere(ratio, points):
    # loss A/D^g at ratio * A is reached with ratio^(1/g) of the tokens
    tokens = np.geomspace(1e6, 1e10, points)
    found = savings(power_curve(100, tokens), power_curve(100 * ratio, tokens))
    expected = 1 - ratio ** (1 / 0.2)
    for point in found:
        if point.at_least:
            assert point.share <= expected + 1e-9
        else:
            assert point.share == pytest.approx(expected, rel=1e-6)
            assert point.transferred == pytest.approx(expected * point.tokens_scratch, rel=1e-6)


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


def test_a_continued_run_that_never_gets_there_is_compared_as_far_as_it_got():
    through = savings(curve([10, 100], [4, 3]), curve([10, 100], [3.9, 3.2]))
    assert [point.loss for point in through] == [3.9, 3.2]
    assert savings(curve([10, 100], [4, 3]), curve([10, 100], [9, 8])) == ()


def test_a_loss_that_rises_on_the_way_counts_from_its_lowest():
    bumpy = curve([10, 100, 1000, 10000], [4, 3, 3.5, 2])
    saving = last(curve([10, 20000], [5, 2.5]), bumpy)
    assert 1000 < saving.tokens_cpt < 10000


@pytest.mark.parametrize(
    ("tokens", "loss", "reason"), inputs("rows")["test_what_is_no_curve_is_refused"]
)
def test_what_is_no_curve_is_refused(tokens, loss, reason):
    with pytest.raises(UserError, match=reason):
        curve(tokens, loss)
