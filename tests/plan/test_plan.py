"""Plans of whole questions: the facts of the advice, its table and its words."""

import json
import math
from typing import Any

import numpy as np
import pytest

import tongues
from tests.golden import golden, inputs
from tests.laws.test_experts import START, TRUE, study
from tongues.core.errors import UserError
from tongues.laws import Law
from tongues.laws.experts import fit_experts
from tongues.plan import Plan, known_bases

UKRAINIAN: dict[str, Any] = inputs("overrides")["Ukrainian"]


@pytest.fixture(scope="module")
def ukrainian() -> Plan:
    return tongues.plan(bases=["meta-llama/Llama-3.1-8B", "Qwen/Qwen3-1.7B-Base"], **UKRAINIAN)


def test_a_larger_base_ends_lower_and_every_number_follows(ukrainian: Plan) -> None:
    large, small = sorted(ukrainian.options, key=lambda option: -option.params)
    assert large.loss and small.loss and large.loss.value < small.loss.value
    assert ukrainian.decision.option is large
    for option in (large, small):
        base = option.base
        assert base is not None and option.limit == "text" and option.epochs
        assert 1.0 < option.epochs <= 5.0
        unique = 20e9 / option.vocabularies["uk"].after.value
        assert option.tokens * (1 - option.replay) == pytest.approx(option.epochs * unique)
        attention = 6 * (base.layers or 0) * (base.hidden or 0) * 4097  # of 4,096 tokens, causal
        assert option.flops == pytest.approx((6 * option.params + attention) * option.tokens)
        flops = 8 * 989e12 * 0.4 * 3600
        assert option.hours == pytest.approx(option.flops / flops)
        assert option.cost == pytest.approx((option.hours or 0) * 8 * 2.5)


def test_the_answer_is_one_screen_with_the_decision_first(ukrainian: Plan) -> None:
    lines = str(ukrainian).splitlines()
    assert len(lines) <= 20 and lines[0].startswith("Continue Llama-3.1-8B on Ukrainian: ")
    said = [part for line in ukrainian.sentences() for part in line.split(". ")]
    assert all(len(part.split()) <= 20 for part in said)
    golden("plan/two bases", str(ukrainian))
    golden("plan/why", "\n".join(ukrainian.reasons()))


def test_its_json_has_every_number(ukrainian: Plan) -> None:
    told = json.loads(json.dumps(ukrainian.to_json(), allow_nan=False))
    assert told["decision"]["option"] == ukrainian.decision.option.name
    first = told["options"][0]
    assert first["tokens"] == ukrainian.options[0].tokens
    assert first["loss"]["low"] < first["loss"]["value"] < first["loss"]["high"]


def test_bases_of_the_catalogue_are_chosen_where_nobody_names_one() -> None:
    plan = tongues.plan(**UKRAINIAN)
    assert 2 <= len(plan.options) <= 4 and plan.question.chosen
    makers = {option.base.name.split("/")[0] for option in plan.options if option.base}
    assert len(makers) == len(plan.options)
    assert all(option.loss for option in plan.options)
    small = tongues.plan(language="yo", gpu="rtx4090", budget="72 hours", available_text="300MB")
    assert all((option.method.memory or math.inf) <= 0.9 * 24e9 for option in small.options)
    assert all(option.kind == "continue" for option in small.options)


@pytest.mark.parametrize("limit", [0.01, 0.02, 0.1])
def test_a_limit_of_forgetting_is_answered_with_a_share_and_a_probability(limit: float) -> None:
    asked: dict[str, Any] = {"bases": ["meta-llama/Llama-3.1-8B"], "language": "yo"}
    option = tongues.plan(**asked, budget="10B tokens", max_forgetting=limit).decision.option
    assert option.rise and option.kept is not None
    looser = tongues.plan(**asked, budget="10B tokens", max_forgetting=limit * 3).decision.option
    assert looser.replay <= option.replay


def test_several_languages_are_planned_together() -> None:
    plan = tongues.plan(
        bases=["Qwen/Qwen3-4B-Base"], language=["sw", "rn", "zu"], gpu="h100", budget="500 US$"
    )
    option = plan.decision.option
    assert set(option.losses) == set(option.vocabularies) == {"sw", "rn", "zu"}
    assert any(line.startswith("by language: sw ") for line in plan.sentences())
    assert any("one dense model; experts lost" in line for line in plan.sentences())
    alone = tongues.plan(bases=["Qwen/Qwen3-4B-Base"], language="sw", budget="1B tokens")
    assert not any("experts" in line for line in alone.sentences())


def test_a_base_that_is_too_large_for_any_method_is_left_out_with_the_reason() -> None:
    asked: dict[str, Any] = {"gpu": "rtx4090", "budget": "24 hours", "language": "eu"}
    plan = tongues.plan(bases=["big=70B@15T", "Qwen/Qwen3-1.7B-Base"], **asked)
    assert [one.code for one in plan.left_out] == ["out_of_memory"]
    assert any("left out: big: 70B parameters" in line for line in plan.sentences())
    with pytest.raises(UserError, match="do not fit 1 rtx4090") as caught:
        tongues.plan(bases=["big=70B@15T"], **asked)
    assert "`--base auto`" in caught.value.hint


@pytest.mark.parametrize(("tokens", "start"), [("1M", "no forecast below"), ("10B", "")])
def test_no_loss_is_told_outside_of_what_a_law_knows(tokens: str, start: str) -> None:
    plan = tongues.plan(bases=["b=70B@15T"], language="uk", budget=f"{tokens} tokens")
    assert plan.decision.option.loss is None
    said = next(line for line in plan.sentences() if line.startswith("loss: "))
    assert (start or "no law here was fitted on models of 70B") in said


def test_an_instruction_model_is_pointed_to_its_base() -> None:
    named = next(base.instruct for base in known_bases().values() if base.instruct)
    plan = tongues.plan(bases=[named], language="eu", budget="1B tokens")
    assert plan.decision.option.base and plan.decision.option.base.name != named
    assert any("--add-chat" in line for line in plan.sentences())


def test_experts_are_weighed_by_a_law_of_them() -> None:
    law = fit_experts(study(), draws=40)[0][-1]
    plan = tongues.plan(law, budget="6e13 FLOPs", gpu="h100")
    assert {option.name for option in plan.options} == {"one model", "2 experts", "4 experts"}
    assert plan.decision.code == "experts" and plan.decision.option.experts == 4
    assert plan.decision.option.loss
    real = float(TRUE.loss(D=plan.decision.option.tokens, S=START, k=4.0))
    low, high = plan.decision.option.loss.low, plan.decision.option.loss.high
    assert low is not None and high is not None and low < real < high


def forgetting() -> Law:
    """A law of forgetting of half a dozen shares, known to 2 %."""
    random = np.random.default_rng(2)
    params = {"F": 3e5, "A": 0.37, "kappa": 0.17, "W": 0.02, "B": 3e8, "beta": 0.1}
    draws = {name: v * np.exp(0.02 * random.normal(size=200)) for name, v in params.items()}
    return Law("forgetting", params, draws=draws, range={"D": (1e8, 1e10), "S": (2.4, 2.4)})


def test_a_law_of_forgetting_sets_the_share() -> None:
    asked: dict[str, Any] = {"bases": ["b=100M@2B"], "budget": "1B tokens"}
    taken = [
        tongues.plan([forgetting(), "zheng2024-cpt"], max_forgetting=limit, **asked).decision.option
        for limit in (0.02, 0.2)
    ]
    assert taken[0].replay > taken[1].replay
    for option, limit in zip(taken, (0.02, 0.2), strict=True):
        at = {"D": option.tokens, "S": 2.4}
        kept = (forgetting().predict(**at, r=option.replay).draws <= 2.4 * (1 + limit)).mean()
        less = (
            forgetting().predict(**at, r=option.replay - 0.03).draws <= 2.4 * (1 + limit)
        ).mean()
        assert less < 2 / 3 <= kept + 0.03 and option.kept == pytest.approx(kept, abs=0.05)


def test_nothing_to_plan_says_what_to_name() -> None:
    with pytest.raises(UserError, match="knows compute alone"):
        tongues.plan("zheng2024-scratch-compute", budget="1e20 FLOPs")


def test_a_law_of_continued_training_needs_a_base() -> None:
    with pytest.raises(UserError, match="no base is named"):
        tongues.plan("zheng2024-cpt", budget="1e20 FLOPs")
    both = tongues.plan(["zheng2024-cpt", "besiroglu2024"], budget="1e20 FLOPs")
    assert [one.code for one in both.left_out] == ["no_base"]


def test_tokens_per_parameter_need_the_parameters() -> None:
    asked: dict[str, Any] = {"budget": "20 tokens per parameter"}
    with pytest.raises(UserError, match="do not say how many parameters"):
        tongues.plan("besiroglu2024", **asked)
    option = tongues.plan("besiroglu2024", params="1B", **asked).decision.option
    assert (option.params, option.tokens) == (1e9, 20e9)
