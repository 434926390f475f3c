import csv
from collections.abc import Mapping
from importlib.resources import files

import numpy as np
import pytest

from tongues.errors import UserError
from tongues.languages import donors as module
from tongues.languages import find_language
from tongues.languages.donors import (
    best_donor,
    confusable_languages,
    fit_transfer,
    measured_transfer,
    rank_donors,
)


def tags(target: str, candidates: tuple[str, ...]) -> list[str]:
    ranked = rank_donors(find_language(target), [find_language(name) for name in candidates])
    return [donor.language.tag for donor in ranked]


def test_measured_scores_come_before_forecasts() -> None:
    donors = rank_donors(find_language("uk"), [find_language(name) for name in ("ru", "be", "th")])
    russian, belarusian, thai = donors
    assert (russian.language.tag, russian.measured, russian.score.value) == ("ru", True, 0.3)
    assert (belarusian.language.tag, belarusian.measured) == ("be", False)
    assert thai.score.value == -0.3
    assert belarusian.score.low is not None
    assert belarusian.score.low < belarusian.score.value
    assert belarusian.overlap == pytest.approx(0.776, abs=0.002)


def test_relatives_come_first_where_nothing_was_measured() -> None:
    assert tags("xh", ("en", "zu", "ar", "zh"))[0] == "zu"
    assert tags("fo", ("es", "is", "th", "ja"))[0] == "is"
    assert tags("mfe", ("fr", "ru", "ja", "hi"))[0] == "fr"
    assert rank_donors(find_language("sw"), [find_language("swa")]) == ()


def test_the_best_donor_keeps_the_name_it_was_given() -> None:
    assert best_donor("xho", ["en", "zul_Latn", "fr"]) == "zul_Latn"
    with pytest.raises(UserError, match="no other language"):
        best_donor("sw", ["swh"], "experts.add.sw")
    with pytest.raises(UserError, match=r"experts\.add"):
        best_donor("qaa", ["en"], "experts.add.qaa")


def test_languages_that_identification_may_mix_up() -> None:
    assert "bs" in [of.tag for of in confusable_languages(find_language("hr"))]
    assert "xh" in [of.tag for of in confusable_languages(find_language("zu"))]
    assert confusable_languages(find_language("fi")) == ()
    assert confusable_languages(find_language("Ankave")) == ()


def test_every_donor_has_text_and_the_target_is_none_of_them() -> None:
    donors = rank_donors(find_language("Ankave"), count=5)
    assert len(donors) == 5
    assert all(donor.language.text_bytes >= 1e8 for donor in donors)
    assert "uk" not in [donor.language.tag for donor in rank_donors(find_language("uk"))]


def test_targets_left_out_are_ranked() -> None:
    """As benchmarks/donors.py, for three of the ten targets."""
    scores = measured_transfer()
    rhos = []
    for target in ("es", "nb", "uk"):
        held = {pair: x for pair, x in scores.items() if pair[0] == target}
        model = fit_transfer({pair: x for pair, x in scores.items() if pair[0] != target})
        guess = model.forecast(find_language(target), [find_language(d) for _, d in held])
        truth = np.array(list(held.values()))
        rhos.append(np.corrcoef(ranks(truth), ranks(guess))[0, 1])
        best = np.flatnonzero(truth == truth.max())
        assert set(best) & set(np.argsort(-guess)[:3])
    assert np.mean(rhos) > 0.75


def test_the_level_of_a_target_does_not_bend_the_weights() -> None:
    scores = measured_transfer()
    higher = {pair: score + 5 * (pair[0] == "uk") for pair, score in scores.items()}
    usual, bent = fit_transfer(scores), fit_transfer(higher)
    assert bent.weights == pytest.approx(usual.weights)
    assert bent.effects == pytest.approx(usual.effects)


def test_without_lang2vec_the_ranking_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_grammar", lambda a, b: None)
    scores = measured_transfer()
    model = fit_transfer({pair: x for pair, x in scores.items() if pair[0] != "uk"})
    names = [donor for target, donor in scores if target == "uk"]
    forecast = model.forecast(find_language("uk"), [find_language(name) for name in names])
    assert np.isfinite(forecast).all()
    assert names[int(np.argmax(forecast))] == "ru"


def test_the_scores_are_those_of_the_table() -> None:
    with (files("tongues.languages") / "transfer.csv").open(encoding="utf-8") as file:
        rows: list[Mapping[str, str]] = list(csv.DictReader(file))
    scores = measured_transfer()
    assert len(scores) == 290
    assert scores["es", "pt"] == 0.5
    assert scores["nb", "sv"] == float(next(row for row in rows if row["target"] == "nb")["sv"])


def ranks(values: np.ndarray) -> np.ndarray:
    smaller = (values[:, None] > values[None, :]).sum(axis=1)
    return smaller + ((values[:, None] == values[None, :]).sum(axis=1) - 1) / 2
