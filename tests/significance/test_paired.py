from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongues.core.estimate import Estimate
from tongues.core.significance import (
    holm,
    measured_loss,
    paired_loss,
    paired_mean,
    win_rates,
)
from tongues.core.significance.paired import fewest_documents, halves


def losses(documents: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    units = np.exp(random.standard_normal(documents)) * 300
    own = units * (2 + 0.1 * random.standard_normal(documents))
    return own, own + units * (0.05 + 0.1 * random.standard_normal(documents)), units


def test_the_difference_is_sum_over_sum():
    own, other, units = losses(40)
    found = paired_loss(own, other, units)
    assert found.value == pytest.approx((own.sum() - other.sum()) / units.sum())
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high


def test_p_is_that_of_all_signs_turned():
    own, other, units = losses(9)
    gap = own - other
    turned = [abs(np.dot(signs, gap)) for signs in product((-1, 1), repeat=9)]
    assert paired_loss(own, other, units).p == pytest.approx(
        np.mean(np.array(turned) >= abs(gap.sum()) * (1 - 1e-12))
    )


@given(st.integers(6, 40), st.integers(0, 10_000), st.floats(-0.3, 0.3))
def test_p_and_interval_never_disagree(documents: int, seed: int, less: float):
    own, other, units = losses(documents, seed)
    found = paired_loss(own + less * units, other, units)
    assert found.low is not None
    assert found.high is not None
    assert found.p is not None
    assert (found.p <= 0.05) == (found.low > 0 or found.high < 0)
    assert bool(found.significant) == (found.p <= 0.05)


def test_of_equals_no_difference_is_told_and_few_documents_say_why_not():
    own, _, units = losses(8)
    assert paired_loss(own, own, units).p == 1.0
    few = paired_loss(own[:5], 2 * own[:5], units[:5])
    assert (few.low, few.high, few.p, few.significant) == (None, None, None, 0)
    assert few.reason == "6 independent documents are needed, there are 5"
    least = paired_loss(own[:6], 2 * own[:6], units[:6])
    assert least.p == 2 / 2**6


def test_a_loss_has_the_interval_of_its_documents():
    own, _, units = losses(600)
    found = measured_loss(own, units)
    assert found.value is not None
    of_each = own / units
    weights = units / units.sum()
    error = np.sqrt(np.sum(weights**2 * (of_each - found.value) ** 2))
    assert found.low is not None
    assert found.high is not None
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * error, rel=0.1)


def test_five_in_a_hundred_equals_are_told_apart():
    random = np.random.default_rng(3)
    units = np.exp(random.standard_normal((1000, 10)))
    low, high = halves(units * random.standard_t(2, units.shape), units)
    p = np.mean((low <= 0) & (high >= 0), axis=-1)
    assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=0.02)


def test_documents_of_one_group_are_cut_as_one():
    own, other, units = losses(10)
    groups = [f"book {n // 5}" for n in range(40)]
    mine, theirs, sizes = (np.repeat(values, 4) / 4 for values in (own, other, units))
    pages = [f"page {n // 4}" for n in range(40)]
    whole, cut = paired_loss(own, other, units), paired_loss(mine, theirs, sizes, pages)
    assert (cut.low, cut.high, cut.n) == pytest.approx((whole.low, whole.high, 10))
    few = paired_loss(mine[:20], theirs[:20], sizes[:20], groups[:20])
    assert (
        few.reason
        == "6 independent documents are needed, there are 4: those of one group count once"
    )


def test_a_mean_over_languages_weighs_each_alike_and_knows_translations():
    own, other, units = losses(30)
    gap = (own - other).sum() / units.sum()
    apart = paired_mean([own, 3 * other], [other, 3 * other], [units, 3 * units])
    assert apart.value == pytest.approx(gap / 2)
    assert apart.n == 60
    few = paired_mean([own[:4], own[4:8]], [other[:4], other[4:8]], [units[:4], units[4:8]])
    assert few.n == 8 and few.low is not None
    names = [str(n) for n in range(30)]
    once = paired_loss(own, other, units)
    twice = paired_mean([own, own], [other, other], [units, units], [names, names])
    assert (twice.low, twice.high, twice.p) == pytest.approx((once.low, once.high, once.p))


def test_differences_between_languages_are_not_noise():
    own, other, units = losses(60)
    halves_of = [(own[:30], other[:30], units[:30]), (own[30:], other[30:], units[30:])]
    ends = [(of.low, of.high) for of in (paired_loss(*half) for half in halves_of)]
    alone = np.sqrt(sum((high - low) ** 2 for low, high in ends if low is not None and high))
    mine, theirs, sizes = zip(*halves_of, strict=True)
    for apart in (0.0, 3.0):  # nats a unit more in one language, less in the other
        shifted = [mine[0] + apart * sizes[0], mine[1] - apart * sizes[1]]
        found = paired_mean(shifted, theirs, sizes)
        assert found.low is not None and found.high is not None
        assert found.high - found.low == pytest.approx(alone / 2, rel=0.15)


def test_among_hundreds_of_comparisons_a_clear_difference_is_still_told():
    own, _, units = losses(100)
    found = paired_loss(own, 1.1 * own, units)
    assert found.p is not None
    assert found.p * 1000 < 0.05


def test_the_smallest_p_counts_most():
    # Holm (1979), in any book: 0.01, 0.02, 0.03, 0.04 become 0.04, 0.06, 0.06, 0.06
    found = holm(
        {
            name: Estimate(1.0, 0.5, 1.5, p=p)
            for name, p in zip("abcd", (0.03, 0.01, 0.04, 0.02), strict=True)
        }
    )
    assert [found[name].p for name in "abcd"] == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert [found[name].significant for name in "abcd"] == [0, 1, 0, 0]
    assert found["a"].among == 4


def test_what_cannot_be_told_is_not_counted():
    nothing = Estimate(1.0, None, None, reason="6 independent documents are needed, there are 2")
    found = holm({"sw": nothing, "de": Estimate(-1.0, -1.5, -0.5, p=0.04)})
    assert found["sw"] is nothing
    assert found["de"].p == 0.04
    assert found["de"].significant == -1
    assert holm({}) == {}


def test_those_chosen_from_more_allow_for_all():
    pair = {"a": Estimate(1.0, 0.5, 1.5, p=0.01), "b": Estimate(1.0, 0.5, 1.5, p=0.02)}
    assert [of.p for of in holm(pair, among=10).values()] == pytest.approx([0.1, 0.18])


@pytest.mark.parametrize(
    ("among", "needed"), [(1, 6), (2, 7), (3, 7), (4, 8), (200, 13), (480, 14)]
)
def test_too_few_documents_are_those_that_could_never_tell(among: int, needed: int):
    assert fewest_documents(among) == needed
    gap, units = -np.arange(1.0, 1 + needed), np.ones(needed)  # the best that could be
    others = {str(n): Estimate(1.0, -1.0, 2.0, p=1.0) for n in range(among - 1)}
    enough = holm({"own": paired_loss(gap, 0 * gap, units), **others})["own"]
    assert (enough.significant, enough.reason) == (-1, "")
    if needed > 6:
        few = holm({"own": paired_loss(gap[1:], 0 * gap[1:], units[1:]), **others})["own"]
        assert few.significant == 0
        assert few.low is not None
        assert few.reason == (
            f"{needed} independent documents are needed for {among} comparisons, "
            f"there are {needed - 1}"
        )


def test_win_rates_tell_who_shares_a_best_place():
    found = win_rates({"a": [3, 2, 1, 5], "b": [1, 2, 4, 4], "c": [0, 0, 4, 0]})
    assert {name: (of.alone, of.shared) for name, of in found.items()} == {
        "a": (2, 1),
        "b": (0, 2),
        "c": (0, 1),
    }
    assert win_rates({"a": [1.0], "b": [2.0]}, lower_wins=True)["a"].alone == 1
