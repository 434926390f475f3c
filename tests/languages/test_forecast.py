"""Forecasts from the prior: against a normal conditioned by hand, and what each fact does."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tongues.languages import (
    LossForecast,
    LossPrior,
    NGrams,
    OwnRun,
    find_language,
    forecast_language,
    known_language,
    read_prior,
)


def _half(answer: LossForecast) -> float:
    assert answer.loss.low and answer.loss.high
    return math.log(answer.loss.high / answer.loss.low) / 2


def test_the_forecast_at_a_published_size_is_the_marginal_of_the_mixed_model() -> None:
    swahili, prior = find_language("sw"), read_prior()
    premium = swahili.byte_premium or 0
    answer = forecast_language(swahili, 1e9 * premium, 125e6)
    amount = math.log10(swahili.text_bytes / premium)
    mean, covariance = prior.normal("Atlantic-Congo", "Latn", amount, 9.0)
    assert answer.loss.value == pytest.approx(math.exp(mean[5]) / premium)
    factor = prior.factor("Atlantic-Congo", 9.0, sample=False, runs=False)
    assert answer.deviation == pytest.approx(factor * math.sqrt(covariance[5, 5] + 0.003**2))
    assert answer.text == "flores"
    assert 0.9 < answer.loss.value < 1.5


def test_own_runs_condition_the_normal() -> None:
    swahili, prior = find_language("sw"), read_prior()
    premium = swahili.byte_premium or 0
    runs = [OwnRun(1e7 * premium, 1.9, 39e6), OwnRun(1e8 * premium, 1.5, 125e6)]
    answer = forecast_language(swahili, 1e9 * premium, 125e6, runs=runs)
    amount = math.log10(swahili.text_bytes / premium)
    mean, C = prior.normal("Atlantic-Congo", "Latn", amount, 9.0)
    C = C + 0.25**2 + 0.003**2 * np.eye(6)  # another text, and the noise of runs
    mean = mean - 0.4
    off = np.log([1.9, 1.5]) + math.log(premium) - mean[3:5]
    pull = C[5, 3:5] @ np.linalg.inv(C[3:5, 3:5])
    assert math.log(answer.loss.value * premium) == pytest.approx(mean[5] + pull @ off)
    factor = prior.factor("Atlantic-Congo", 9.0, sample=False, runs=True)
    assert answer.deviation**2 == pytest.approx(factor**2 * (C[5, 5] - pull @ C[3:5, 5]))
    assert answer.text == "own"


def test_each_thing_known_narrows_the_interval() -> None:
    at = 1e9
    alone, unknown = forecast_language("sw", at), forecast_language("qqq_Cham", at)
    grams = NGrams(2.2, 1.7, reference=True)
    run = OwnRun(1e7, 1.9), OwnRun(1e8, 1.5)
    sample = forecast_language("sw", at, sample=grams)
    first, both = (forecast_language("sw", at, runs=run[:count]) for count in (1, 2))
    assert _half(unknown) > 1.2 * _half(alone)
    assert _half(sample) < 0.75 * _half(alone)
    assert _half(first) > 1.4 * _half(both)  # of own text, which is another than `alone`
    assert "2 runs" in both.rests_on[-1]


def test_a_sample_of_own_text_counts_as_a_rough_run() -> None:
    at, grams = 3e6, NGrams(2.4, 2.0, 1.7, train_bytes=3e6)
    own, alone = forecast_language("sw", at, sample=grams), forecast_language("sw", at)
    # held-out text of the same sources is far easier than the clean sentences of the table
    assert own.loss.value == pytest.approx(1.7 * math.exp(-0.2), rel=0.05)
    assert own.loss.value < 0.7 * alone.loss.value
    assert (own.text, alone.text) == ("own", "flores")
    # its trigrams alone count, and what its text is worth elsewhere is less sure
    assert forecast_language("sw", at, sample=replace(grams, bigram=1.0)).loss == own.loss
    assert forecast_language("sw", 1e9, sample=grams).deviation > 1.3 * own.deviation
    run = OwnRun(at, own.loss.value)
    assert forecast_language("sw", at, sample=grams, runs=[run]).deviation < 0.3 * own.deviation


def test_an_offset_of_all_runs_moves_the_forecast_alike() -> None:
    losses = np.array([1.9, 1.5])
    values = [
        forecast_language("sw", 1e9, runs=[OwnRun(1e7, a), OwnRun(1e8, b)]).loss.value
        for a, b in (losses, 1.1 * losses)
    ]
    assert values[1] / values[0] == pytest.approx(1.1, rel=0.02)


def test_losses_in_another_unit_are_noticed() -> None:
    runs = [OwnRun(1e7, 5.9), OwnRun(1e8, 4.5)]
    assert [c.code for c in forecast_language("sw", 1e9, runs=runs).cautions] == ["unlike_prior"]
    assert not forecast_language("sw", 1e9, runs=[OwnRun(1e7, 1.9)]).cautions


def test_size_and_data_are_apart() -> None:
    small, usual, large = (forecast_language("sw", 1e9, N).loss for N in (39e6, 125e6, 500e6))
    assert small.value > 1.03 * usual.value > usual.value > large.value
    # at ten megabytes another size changes little: the published law says so, the table cannot
    ten = [forecast_language("sw", 1e7, N).loss.value for N in (39e6, 125e6)]
    assert ten[0] / ten[1] == pytest.approx(1.0, abs=0.02)
    beyond = forecast_language("sw", 1e11)
    assert beyond.cautions[0].code == "beyond_prior"
    assert beyond.deviation > forecast_language("sw", 1e9).deviation


def test_more_text_is_a_lower_loss_everywhere_between_sizes() -> None:
    sizes = np.logspace(6, 11, 41)
    losses = [forecast_language("sw", size).loss.value for size in sizes]
    assert (np.diff(losses) < 0).all()


def test_a_language_of_the_table_has_its_own_level() -> None:
    answer = forecast_language("de", 1e9 * 1.054)
    assert answer.rests_on == ("4 published runs in German",)
    assert answer.loss.value == pytest.approx(73.9 / 65 / 1.054, rel=0.03)  # of the published table
    assert _half(answer) < 0.06


def test_a_tag_that_nobody_knows_has_what_its_parts_say() -> None:
    assert known_language("swh_Arab").family[0] == "Atlantic-Congo"
    assert known_language("swh_Arab").text_bytes == 0
    assert known_language("qqq_Cham").family == ()
    assert forecast_language("qqq_Cham", 1e7).rests_on[0].endswith("nothing of it")


def test_deviations_at_a_gigabyte_are_those_that_held_for_languages_left_out() -> None:
    factors = np.array([[0.5, 0.6, 0.7, 0.8], [0.9, 1.0, 1.1, 1.2]])
    prior, plain = (replace(read_prior(), factors=of) for of in (factors, np.ones_like(factors)))
    runs, grams = [OwnRun(1e7, 1.9)], NGrams(2.2, 1.7, reference=True)
    for language, row in (("sw", 0), ("qqq_Cham", 1)):
        for column, (sample, own) in enumerate(
            ((None, ()), (grams, ()), (None, runs), (grams, runs))
        ):
            wide, as_fitted = (
                forecast_language(language, 3e9, sample=sample, runs=own, prior=of).deviation
                for of in (prior, plain)
            )
            assert wide / as_fitted == pytest.approx(factors[row, column])
    small = [forecast_language("sw", 5e7, prior=of).deviation for of in (prior, plain)]
    assert small[0] == small[1]


def test_a_prior_that_was_saved_is_the_same(tmp_path: Path) -> None:
    prior = read_prior()
    prior.save(tmp_path / "prior.npz")
    again = read_prior(tmp_path / "prior.npz")
    assert isinstance(again, LossPrior)
    values = [forecast_language("sw", 3e8, prior=one).loss for one in (prior, again)]
    assert values[0].value == pytest.approx(values[1].value, rel=1e-6)
    assert values[0].low == pytest.approx(values[1].low, rel=1e-5)


def test_a_new_family_and_script_add_their_spread() -> None:
    prior = read_prior()
    known, new = (prior.normal(*names, 10.0, 9.0)[1][5, 5] for names in (("", "Latn"), ("", "")))
    assert new - known > 0.5 * prior.spread[1, 5, 5]
    assert new > prior.spread[:, 5, 5].sum()
