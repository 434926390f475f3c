"""What a model comes to: the law by hand, and what it must not get wrong."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongues.languages import find_language
from tongues.languages.forecast import BYTES_PER_TOKEN, EPOCHS, MOST_BYTES, MOST_PARAMETERS
from tongues.plan import BaseCheckpoint, Target
from tongues.plan.outlook import Outlook, estimate, outlook, worth

BASE = BaseCheckpoint("base", 1.24e9, 9e12, "llama3", ("en",))


@pytest.fixture(scope="module")
def swahili() -> Outlook:
    return outlook(Target("sw"))


def test_the_level_is_that_of_the_languages_forecast(swahili: Outlook) -> None:
    read = worth(EPOCHS * MOST_BYTES, MOST_BYTES) * swahili.premium
    found = estimate(swahili.loss(MOST_PARAMETERS, read, swahili.start(None)))
    assert found.value == pytest.approx(swahili.forecast.loss.value, rel=0.01)
    assert (found.high or 0) / (found.low or 1) > math.exp(2 * 1.9 * swahili.forecast.deviation)


def test_the_loss_is_the_law_of_besiroglu_at_that_level(swahili: Outlook) -> None:
    def law(N: float, D: float) -> float:
        return 1.8172 + 482.01 / N**0.3478 + 2085.43 / D**0.3658

    read = 20e9
    tokens = read / swahili.premium / BYTES_PER_TOKEN
    unique = MOST_BYTES / BYTES_PER_TOKEN
    anchor = law(MOST_PARAMETERS, worth(EPOCHS * unique, unique))
    expected = swahili.forecast.loss.value * law(8e9, tokens) / anchor
    assert np.median(swahili.loss(8e9, read, swahili.start(None))) == pytest.approx(
        expected, rel=0.01
    )


@settings(max_examples=25, deadline=None)
@given(st.floats(1e8, 1e11), st.floats(1.2, 100.0))
def test_more_text_larger_bases_and_head_starts_help(read: float, times: float) -> None:
    one = outlook(Target("sw"))
    start = one.start(BASE)
    loss = one.loss(BASE.params, read, start)
    assert (one.loss(BASE.params, times * read, start) < loss).all()
    assert (one.loss(times * BASE.params, read, start) < loss).all()
    assert (one.loss(BASE.params, read, one.start(None)) > loss).all()


def test_a_measured_base_starts_from_its_own_loss(swahili: Outlook) -> None:
    start = swahili.start(BASE, 1.5)
    now = estimate(swahili.loss(BASE.params, 0.0, start))
    assert now.value == pytest.approx(1.5, rel=0.01)
    few, many = (estimate(swahili.loss(BASE.params, size, start)) for size in (3e5, 2e9))
    assert 1.5 > few.value > many.value and (many.high or 9.0) < 1.5


@pytest.mark.parametrize("loss", [0.9, 1.5, 2.2])
def test_what_a_measurement_says_is_bayes_rule_on_a_grid(loss: float) -> None:
    one = outlook(Target("sw"))
    start = one.start(BASE, loss)
    logs = np.linspace(-5.0, 5.0, 4001)  # of the head start, in standard deviations
    above = np.linspace(0.0, 4.0, 801)[:, None]  # the loss before training, in logs
    prior = np.exp(-0.5 * logs**2) * np.exp(-above / 0.4)
    usual = 0.2 * BASE.tokens * find_language("sw").text_bytes / 8.9e13
    tokens = 1e7 + usual * np.exp(1.8 * logs)
    curve = 1.8172 + 482.01 / BASE.params**0.3478 + 2085.43 / tokens**0.3658
    off = math.hypot(one.forecast.deviation, 0.25)
    weights = prior * np.exp(-0.5 * ((np.log(loss / curve / one.level) - above) / off) ** 2)
    weights = weights.sum(0)
    share = np.cumsum(weights) / weights.sum()
    expected = np.interp([0.1, 0.5, 0.9], share, np.log(tokens))
    found = np.percentile(np.log(start.tokens), [10, 50, 90])
    assert found == pytest.approx(expected, abs=0.15)


def test_a_base_that_names_the_language_has_read_more_of_it() -> None:
    one = outlook(Target("uk"))
    knows = BaseCheckpoint("knows", 8e9, 15e12, "llama3", ("en", "uk"))
    other = BaseCheckpoint("other", 8e9, 15e12, "llama3", ("en",))
    assert np.median(one.start(knows).tokens) > 5 * np.median(one.start(other).tokens)


@given(st.floats(1e3, 1e12), st.floats(0.0, 200.0))
def test_repeats_are_worth_less_and_never_more_than_sixteen_times(
    unique: float, more: float
) -> None:
    amount = unique * (1.0 + more)
    assert unique <= worth(amount, unique) <= min(amount, 16.4 * unique) * (1 + 1e-12)
    assert worth(unique / 2, unique) == unique / 2


def test_four_epochs_are_nearly_new_text() -> None:
    assert worth(4.0, 1.0) == pytest.approx(3.73, abs=0.01)  # 1 + 15.39 (1 − exp(−3/15.39))


def test_no_law_knows_tiny_or_huge_models(swahili: Outlook) -> None:
    assert swahili.covers(135e6) and swahili.covers(14e9)
    assert not swahili.covers(1e6) and not swahili.covers(70e9)
