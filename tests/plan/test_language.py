"""Plans in a language that nobody fitted a law for."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tongues
from tongues.errors import UserError
from tongues.languages import OwnRun, find_language, forecast_language
from tongues.laws import preset
from tongues.plan.language import language_level, laws_of_language, read_own_runs


def test_the_laws_are_published_ones_at_the_level_of_the_language() -> None:
    level = language_level("sw")
    scratch, continued = laws_of_language(level, "sw").known
    printed = preset("zheng2024-scratch")
    N, D = np.array([1e8, 1e9]), np.array([1e10, 1e11])
    ratio = scratch.law.loss(N, D) / printed.loss(N, D)
    assert ratio[0] == pytest.approx(ratio[1])  # in all sizes alike
    assert continued.law.params["beta"] == preset("zheng2024-cpt").params["beta"]
    # at the anchor: 125M parameters, ten epochs of 1e9 / 4.7 tokens, which are worth 7.8
    unique = 1e9 / 4.7
    worth = unique * (1 + 15.387756 * (1 - math.exp(-9 / 15.387756)))
    assert scratch.law.loss(125e6, worth) / level.nats == pytest.approx(level.forecast.loss.value)


def test_a_plan_needs_a_language_and_a_budget_alone() -> None:
    plan = tongues.plan(language="sw", flops=1e20)
    assert plan.question.text == find_language("sw").text_bytes
    scratch = plan.options[0]
    assert scratch.interval
    wide = math.log(scratch.interval[1] / scratch.interval[0])
    assert wide > 2 * 1.9 * plan.laws.known[0].level  # what the prior leaves open is in it
    assert plan.level and plan.to_json()["prior"]["text"] == "flores"
    assert "bits per byte" in str(plan.sentences())


def test_a_language_by_its_name_is_the_one_by_its_tag() -> None:
    asked = {"flops": 1e20, "bases": ["SmolLM2-135M"]}
    by_name = tongues.plan(language="Yoruba", **asked)
    assert by_name.sentences() == tongues.plan(language="yo", **asked).sentences()
    assert "target: yo}" in "".join(by_name.sentences())
    known = tongues.plan(language="English", **asked)
    assert "knows `en` already" in "".join(known.sentences())


def test_the_level_says_of_how_much_text_it_is() -> None:
    level = language_level("sw")
    again = forecast_language("sw", level.text_bytes, 125e6)
    assert again.loss == level.forecast.loss
    assert "on 1.07 GB of Swahili (as much content as 1 GB of English), end at 1.15" in (
        level.sentence
    )


def test_losses_of_a_language_are_shown_and_asked_for_in_bits_per_byte() -> None:
    plan = tongues.plan(language="yo", flops=1e18)
    taken, level = plan.recommendation.option, plan.level
    assert level
    bits = taken.loss / level.nats
    (row,) = (row for row in plan.rows() if row["option"] == taken.name)
    assert row["bits/byte"].startswith(f"{bits:.3f} [")
    assert f"a loss of {bits:.3f} bits per byte" in plan.sentences()[0]
    asked = tongues.plan(language="yo", target_loss=1.3)
    assert asked.recommendation.option.loss == pytest.approx(1.3 * level.nats, rel=6e-3)
    assert "reach a loss of 1.300" in asked.sentences()[0]


def test_own_runs_narrow_the_plan(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    file.write_text("bytes,loss,params,epochs\n10 MB,1.9,39M,10\n100M,1.5,125M,10\n")
    assert read_own_runs(file) == [OwnRun(1e7, 1.9, 39e6, 10.0), OwnRun(1e8, 1.5, 125e6, 10.0)]
    other = tmp_path / "excel.csv"
    other.write_text("\ufeffbytes;loss;params;epochs\r\n10M;1.9;39M;10\r\n", encoding="utf-8")
    assert read_own_runs(other) == [OwnRun(1e7, 1.9, 39e6, 10.0)]
    plans = [tongues.plan(language="sw", flops=1e20, runs=runs) for runs in (None, file)]
    low, high = zip(*(plan.options[0].interval or (0, 0) for plan in plans), strict=True)
    alone, both = np.log(np.array(high) / np.array(low))
    assert both < 0.6 * alone


def test_both_ways_share_the_level_so_that_it_does_not_decide() -> None:
    plan = tongues.plan(language="sw", flops=1e20)
    scratch, continued = plan.laws.known
    from tongues.plan.ways import predict

    at = {"N": np.array([1e9]), "D": np.array([1e10])}
    pair = [np.log(predict(one, at, one_run=False)[:, 0]) for one in (scratch, continued)]
    assert np.std(pair[0] - pair[1]) < 0.75 * np.std(pair[0])


def test_of_the_same_text_the_tokenizer_of_a_base_does_not_matter() -> None:
    asked: dict[str, Any] = {
        "language": "my",
        "flops": 1e21,
        "replay": "0",
        "bases": ["Llama-2-7b-hf=7B@2T"],
    }
    asked["bases"] += ["gemma-2-9b=7B@8T"]  # 5.7 and 9.2 bytes a token
    short = tongues.plan(**asked, available_text="3GB").options  # read five times by both
    losses = {option.base: option.loss for option in short if option.base}
    assert losses["Llama-2-7b-hf"] == pytest.approx(losses["gemma-2-9b"], rel=1e-6)
    long = tongues.plan(**asked, available_text="300GB").options  # the same tokens are more text
    losses = {option.base: option.loss for option in long if option.base}
    assert losses["gemma-2-9b"] < 0.98 * losses["Llama-2-7b-hf"]


def test_wrong_runs_and_languages_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    file.write_text("bytes,loss\n10M,\n")
    with pytest.raises(UserError, match="are needed"):
        tongues.plan(language="sw", flops=1e20, runs=file)
    file.write_text('bytes,loss\n10M,"1,9"\n')
    with pytest.raises(UserError, match="decimals with a point"):
        read_own_runs(file)
    file.write_text("bytes,loss\n10M,1.9\n")
    with pytest.raises(UserError, match="without a law"):
        tongues.plan("hoffmann2022", language="sw", flops=1e20, runs=file)
    with pytest.raises(UserError, match="no such file"):
        tongues.plan(language="sw", flops=1e20, runs="none.csv")
    with pytest.raises(UserError, match="no language"):
        tongues.plan(language="swahilli", flops=1e20)
