import math
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import inputs
from tongues.core.significance import (
    chance,
    detectable,
    detectable_before,
    measured_accuracy,
    measured_mean,
    paired_accuracy,
    relative_score,
)
from tongues.core.significance.draws import spread
from tongues.core.significance.student import critical, two_sided


def right(level: float, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random(shape) < level).astype(float)


def test_where_only_draws_differ_it_is_the_t_of_the_draws():
    gap = np.repeat([[0.0], [1.0], [0.0], [1.0], [1.0]], 40, axis=1)
    found = paired_accuracy(gap, np.zeros_like(gap))
    of_draw = gap.mean(1)
    assert found.p == pytest.approx(two_sided(0.6 / (of_draw.std(ddof=1) / np.sqrt(5)), 4))


def test_where_only_items_differ_more_draws_tell_no_more():
    own, other = right(0.6, (1, 200)), right(0.5, (1, 200), 1)
    once = paired_accuracy(own, other)
    again = paired_accuracy(np.repeat(own, 5, axis=0), np.repeat(other, 5, axis=0))
    assert again.p == pytest.approx(once.p)
    assert again.low == pytest.approx(once.low)


def test_too_few_items_or_draws_say_so():
    assert paired_accuracy(np.ones((1, 9)), np.zeros((1, 9))).reason
    two = paired_accuracy(np.ones((2, 90)), np.zeros((2, 90)))
    assert (two.value, two.p) == (1.0, None)
    assert two.reason == "3 draws are needed, there are 2"
    same = paired_accuracy(np.ones((3, 90)), np.ones((3, 90)))
    assert (same.value, same.p, same.significant) == (0.0, 1.0, 0)


def test_a_metric_without_a_unit_has_no_floor_below_its_error():
    rates = 1.15 + 0.002 * np.random.default_rng(0).normal(size=(1, 50))
    less = rates - 0.0136 + 0.001 * np.random.default_rng(1).normal(size=(1, 50))
    found = paired_accuracy(less, rates, unit=None)
    assert found.high is not None and found.high < -0.013 and found.significant == -1
    mean = measured_mean(rates)
    assert mean.low is not None and mean.value - mean.low < 0.001
    same = paired_accuracy(rates, rates, unit=None)
    assert (same.value, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_mean_over_languages_shares_its_draws():
    parts = [right(0.5, (5, 60), seed) for seed in range(4)]
    others = [right(0.4, (5, 60), seed) for seed in range(4, 8)]
    found = paired_accuracy(parts, others)
    each = [paired_accuracy(a, b).value for a, b in zip(parts, others, strict=True)]
    assert found.value == pytest.approx(np.mean(each))
    of_draw = np.array([[0.0], [0.3], [0.6]])  # moves all languages alike: averaging does not help
    moved = [np.repeat(of_draw, 60, axis=1)] * 4
    assert float(spread(moved)[1]) == pytest.approx(of_draw.std(ddof=1) / np.sqrt(3))


def test_an_accuracy_has_wilsons_interval():
    found = measured_accuracy(np.array([[1.0] * 81 + [0.0] * 182]))
    # 81 of 263 (Newcombe, 1998): 0.2553 to 0.3662 with 1.96; t of 262 is 0.5 % wider
    assert found.low == pytest.approx(0.2553, abs=6e-4)
    assert found.high == pytest.approx(0.3662, abs=6e-4)
    all_right = measured_accuracy(np.ones((5, 30)))
    assert all_right.high == 1.0
    assert all_right.low == pytest.approx(0.88, abs=0.01)


def test_a_relative_score_is_what_is_above_chance():
    baseline, own = right(0.7, (5, 1000)), right(0.6, (5, 1000), 1)
    found = relative_score(own, baseline, chance=0.5)
    assert found.value == pytest.approx((own.mean() - 0.5) / (baseline.mean() - 0.5))
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.5 < found.high
    itself = relative_score(baseline, baseline, chance=0.5)
    assert (itself.low, itself.value, itself.high) == pytest.approx((1, 1, 1), abs=5e-3)
    assert relative_score(own, right(0.51, (5, 100)), chance=0.5).reason


@pytest.mark.parametrize(("level", "of_right"), [(0.5, 15), (0.1, 3), (0.7, 21)])
def test_there_is_no_ratio_to_chance_itself(level: float, of_right: int):
    at_chance = np.array([[1.0] * of_right + [0.0] * (30 - of_right)])
    found = relative_score(np.ones((1, 30)), at_chance, chance=level)
    assert math.isnan(found.value) and found.low is None
    assert found.reason == "the baseline is not significantly above chance"


@pytest.mark.parametrize("of_draw", [0.0, 0.2])
def test_five_in_a_hundred_equals_are_told_apart(of_draw: float):
    random = np.random.default_rng(2)

    def correct() -> np.ndarray:
        latent = 0.5 * random.standard_normal((1000, 1, 100))
        latent = latent + of_draw * random.standard_normal((1000, 5, 1))
        return (latent + 0.3 * random.standard_normal((1000, 5, 100)) + items > 0).astype(float)

    items = random.standard_normal((1000, 1, 100))
    mean, error, freedom = spread([correct() - correct()])
    pairs = zip((mean / error).tolist(), freedom.tolist(), strict=True)
    p = np.array([two_sided(t, free) for t, free in pairs])
    assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=0.02)


def groups_of(size: int, count: int = 40) -> list[str]:
    return [str(item // size) for item in range(size * count)]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_one_draw_is_the_paired_t_of_its_items_or_of_the_means_of_groups(size: int) -> None:
    own, other = right(0.6, (1, size * 40)), right(0.5, (1, size * 40), 1)
    estimate = paired_accuracy(own, other, groups_of(size) if size > 1 else None)
    means = (own - other).reshape(40, size).mean(1)
    error = means.std(ddof=1) / np.sqrt(40)
    assert estimate.value == pytest.approx((own - other).mean())
    assert estimate.p == pytest.approx(two_sided(means.mean() / error, 39))
    assert estimate.high == pytest.approx(means.mean() + critical(39) * error)


def test_draws_of_grouped_items_are_draws_of_their_means() -> None:
    own, other = right(0.6, (5, 90)), right(0.4, (5, 90), 1)
    grouped = paired_accuracy(own, other, groups_of(3, 30))
    assert paired_accuracy(own, other, np.repeat(np.arange(30), 3)) == grouped
    means = [of.reshape(5, 30, 3).mean(2) for of in (own, other)]
    single = paired_accuracy(means[0], means[1])
    assert (grouped.value, grouped.p) == pytest.approx((single.value, single.p))


def test_unequal_groups_have_cluster_robust_errors() -> None:
    sizes = np.array([1, 2, 3, 9] * 10)
    place = np.repeat(np.arange(40), sizes)
    values = right(0.5, (1, len(place)))
    estimate = paired_accuracy(values, np.zeros_like(values), [str(n) for n in place])
    sums = np.bincount(place, values[0] - values.mean())
    error = np.sqrt((sums**2).sum() * 40 / 39) / len(place)
    freedom = sizes.sum() ** 2 / (sizes**2).sum() - 1
    assert estimate.value == pytest.approx(values.mean())
    assert estimate.p == pytest.approx(two_sided(values.mean() / error, freedom))


def test_copies_of_items_in_a_group_add_nothing() -> None:
    own, other = right(0.7, (1, 60)), right(0.5, (1, 60), 1)
    copies = [np.repeat(of, 4, axis=1) for of in (own, other)]
    once, more = (
        paired_accuracy(own, other),
        paired_accuracy(copies[0], copies[1], groups_of(4, 60)),
    )
    assert (more.low, more.p) == pytest.approx((once.low, once.p))
    once, more = measured_accuracy(own), measured_accuracy(copies[0], groups_of(4, 60))
    assert (more.low, more.high) == pytest.approx((once.low, once.high))
    once = relative_score(own, other, 0.25)
    more = relative_score(copies[0], copies[1], 0.25, groups_of(4, 60))
    assert (more.low, more.high) == pytest.approx((once.low, once.high), rel=1e-6)
    assert chance([4] * 240, groups_of(4, 60)) == chance([4] * 60)
    parts = [own, other]
    twice = measured_mean([np.repeat(of, 4, axis=1) for of in parts], [groups_of(4, 60)] * 2)
    assert (twice.low, twice.high) == pytest.approx(
        (measured_mean(parts).low, measured_mean(parts).high)
    )


def test_ten_groups_are_needed() -> None:
    estimate = paired_accuracy(np.ones((1, 90)), np.zeros((1, 90)), groups_of(10, 9))
    assert estimate.reason == "10 groups of items are needed, there are 9"


def test_what_can_be_detected_is_significant_four_times_in_five() -> None:
    low, high = detectable_before([2] * 500, [str(n) for n in range(500)])
    assert low == high == pytest.approx(2.8016 * np.sqrt(0.25 / 500), rel=1e-4)
    one, alike = detectable_before([2] * 500, groups_of(5, 100))
    assert (one, alike) == pytest.approx((low, low * np.sqrt(5)))
    random = np.random.default_rng(3)
    gaps = random.normal(0.05, 1, (2000, 1, 400)) * 0.36
    estimates = [measured_mean(gap - gap.mean() + 0.05) for gap in gaps[:200]]
    size = np.mean([detectable(of) or 0.0 for of in estimates])
    mean, error, freedom = spread([gaps - 0.05 * 0.36 + size])
    p = [two_sided(t, f) for t, f in zip(mean / error, freedom, strict=True)]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.8, abs=0.03)
    assert estimates[0].p is None


@pytest.mark.parametrize(
    ("freedom", "value"), inputs("rows")["test_critical_values_are_those_of_the_tables"]
)
def test_critical_values_are_those_of_the_tables(freedom: float, value: float):
    assert critical(freedom) == pytest.approx(value, abs=5e-5)


@pytest.mark.parametrize(("freedom", "t"), [(1.0, 1.0), (2.0, 3.0)])
def test_one_and_two_degrees_have_closed_forms(freedom: float, t: float):
    closed = {1.0: 0.5, 2.0: 1 - t / (2 + t * t) ** 0.5}[freedom]
    assert two_sided(t, freedom) == pytest.approx(closed, rel=1e-12)


@given(st.floats(1, 1e5), st.floats(1e-6, 0.9))
def test_half_degrees_too_are_undone_by_the_tail(freedom: float, level: float):
    assert two_sided(critical(freedom, level), freedom) == pytest.approx(level, rel=1e-6)


def test_tails_grow_thinner_with_the_degrees():
    tails = [two_sided(2.5, freedom) for freedom in (1, 1.5, 3, 10, 1e4, inf)]
    assert tails == sorted(tails, reverse=True)
    assert two_sided(0.0, 3) == 1.0
    assert two_sided(-2.5, 3) == two_sided(2.5, 3)
    assert two_sided(inf, 3) == 0.0
