"""`--keep`: the least replay that keeps the source language, at each option's own tokens."""

import math
from pathlib import Path

import numpy as np
import pytest

from tests.plan.test_plan import CPT, FORGET, SCRATCH, fitted, laws
from tongues.errors import UserError
from tongues.laws import Law
from tongues.plan import ask, make_plan, write_recipe
from tongues.recipe import load_recipe

BASES = ("a=1B@20B", "b=2B@40B")


def forgetting(spread: float = 0.02, **changed: float) -> Law:
    random = np.random.default_rng(2)
    params = FORGET | changed
    noise = {name: np.exp(spread * random.normal(size=200)) for name in params}
    draws = {name: value * noise[name] for name, value in params.items()}
    return Law("forgetting", params, draws=draws, range={"D": (1e9, 1e11), "S": (2.0, 3.0)})


def test_each_base_gets_the_share_for_its_own_tokens() -> None:
    known = laws(cpt=fitted("cpt", CPT), forgetting=forgetting())
    plan = make_plan(known, ask(flops="6e19", bases=BASES, source_loss="2.4", keep="1%"))
    sought = [option for option in plan.options if option.way.advice]
    assert len(sought) == 2
    for option in sought:
        assert option.source_loss == pytest.approx(2.4 * 1.01, rel=3e-3)
        assert (option.source_loss or 9) <= 2.4 * 1.01
        low, high = option.to_json()["replay_interval"]
        assert low < option.way.replay < high
    longer, shorter = (option.way.replay for option in sought)
    assert longer < shorter
    taken = plan.recommendation
    assert taken.option in sought
    assert "within 1%" in taken.replay and "(95 %)" in taken.replay
    assert plan.to_json()["budget"]["keep"] == 0.01


@pytest.mark.parametrize("asked", [{"flops": "6e19"}, {"target_loss": "2.4"}])
def test_tokens_that_depend_on_the_share_are_those_of_the_share(asked: dict[str, str]) -> None:
    known = laws(cpt=fitted("cpt", CPT), forgetting=forgetting())
    plan = make_plan(known, ask(**asked, source_loss="2.4", keep="0.5%", replay="0"))
    option = plan.recommendation.option
    assert [one.way.replay for one in plan.options] == [0, option.way.replay]
    exact = float(forgetting().loss(D=option.tokens, r=option.way.replay, S=2.4))
    assert exact / 2.4 - 1 == pytest.approx(0.005, abs=1e-3)
    assert len(f"{option.way.replay * 100:g}".replace(".", "").lstrip("0")) <= 2


def test_a_base_that_needs_none_is_told_so() -> None:
    known = laws(cpt=fitted("cpt", CPT), forgetting=forgetting(F=1e15, W=1e-9))
    plan = make_plan(known, ask(flops="6e19", bases=BASES[:1], source_loss="2.4", keep="1%"))
    assert plan.recommendation.option.way.replay == 0
    assert "None is needed" in plan.recommendation.replay


def test_a_share_that_may_not_suffice_is_told_so() -> None:
    known = laws(cpt=fitted("cpt", CPT), forgetting=forgetting(0.5, W=0.2))
    plan = make_plan(known, ask(flops="6e19", bases=BASES[:1], source_loss="2.4", keep="1%"))
    assert "no share may suffice" in plan.recommendation.replay
    ends = plan.recommendation.option.to_json()["replay_interval"]
    assert ends[0] < plan.recommendation.option.way.replay and ends[1] is None


def test_what_cannot_be_told_or_kept_is_refused_with_its_reason() -> None:
    cpt = fitted("cpt", CPT)
    asked = {"flops": "6e19", "bases": BASES[:1], "keep": "1%"}
    bare = Law("forgetting", FORGET)
    refusals = {
        "no_forgetting_law": (laws(cpt=cpt), {}),
        "source_loss_missing": (laws(cpt=cpt, forgetting=bare), {}),
        "no_cpt_law": (
            laws(scratch=fitted("chinchilla", SCRATCH), forgetting=bare),
            {"source_loss": "2.4"},
        ),
        "cannot_keep": (
            laws(cpt=cpt, forgetting=forgetting(W=5.0, B=1e14)),
            {"source_loss": "2.4"},
        ),
    }
    for code, (known, more) in refusals.items():
        with pytest.raises(UserError) as caught:
            make_plan(known, ask(**asked, **more))
        assert (caught.value.code, caught.value.where) == (code, "--keep")
        assert caught.value.hint
    for wrong in ("1.5", "120%", "-1%", "some"):
        with pytest.raises(UserError, match="is no share"):
            ask(flops="1e20", keep=wrong)


def test_the_written_recipe_has_the_share(tmp_path: Path) -> None:
    known = laws(cpt=fitted("cpt", CPT), forgetting=forgetting(F=1e4, B=1e7))
    plan = make_plan(known, ask(params="100k", tokens="2M", source_loss="2.4", keep="1%"))
    assert any("source loss of" in str(caution) for caution in plan.warnings)  # a projection
    write_recipe(plan, tmp_path / "recipe.yaml")
    (share,) = load_recipe(tmp_path / "recipe.yaml").train.replay.values()
    assert share == plan.recommendation.option.way.replay > 0
    assert math.isclose(share, round(share, 4))
