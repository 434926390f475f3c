"""`--max-forgetting`: the least replay that keeps the source language."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.golden import golden
from tests.plan.test_plan import CPT, FORGET, codes, fitted, laws, printed
from tongues.errors import UserError
from tongues.laws import Law, fit
from tongues.plan import ask, make_plan, write_recipe
from tongues.plan.recommend import Recommendation
from tongues.recipe import load_recipe

BASES = ("a=1B@20B", "b=2B@40B")


def forgetting(spread: float = 0.02, **changed: float) -> Law:
    random = np.random.default_rng(2)
    params = FORGET | changed
    noise = {name: np.exp(spread * random.normal(size=200)) for name in params}
    draws = {name: value * noise[name] for name, value in params.items()}
    return Law("forgetting", params, draws=draws, range={"D": (1e9, 1e11), "S": (2.4, 2.4)})


def test_each_base_gets_the_share_that_its_own_tokens_need() -> None:
    known = laws(cpt=fitted("cpt", CPT), forgetting=forgetting())
    plan = make_plan(known, ask(flops="6e19", bases=BASES, max_forgetting="1%"))
    sought = [option for option in plan.options if option.way.advice]
    assert len(sought) == 2
    for option in sought:
        at = {"D": option.tokens, "S": 2.4}
        shares = option.way.replay + np.array([-0.02, 0.0, 0.02])
        less, kept, more = (
            (forgetting().predict(**at, r=r).draws <= 2.4 * 1.01).mean() for r in shares
        )
        assert less < 0.9 < more and kept == pytest.approx(0.9, abs=0.03)
        assert option.to_json()["replay_likely"] == pytest.approx(kept, abs=0.03)
        low, high = option.to_json()["replay_interval"]
        assert low < option.way.replay < high
    longer, shorter = (option.way.replay for option in sought)
    assert longer < shorter
    taken = plan.recommendation
    assert taken.option in sought
    assert "within 1% with a probability of" in taken.replay
    assert plan.to_json()["budget"]["max_forgetting"] == 0.01


@pytest.mark.parametrize("asked", [{"flops": "6e19"}, {"target_loss": "2.4"}])
def test_tokens_that_depend_on_the_share_are_those_of_the_share(asked: dict[str, str]) -> None:
    known = laws(cpt=fitted("cpt", CPT), forgetting=forgetting())
    plan = make_plan(known, ask(**asked, max_forgetting="0.5%"))
    option = plan.recommendation.option
    assert [one.way.replay for one in plan.options] == [0, option.way.replay]
    at = {"D": option.tokens, "r": option.way.replay, "S": 2.4}
    kept = forgetting().predict(**at).draws <= 2.4 * 1.005
    assert kept.mean() == pytest.approx(0.9, abs=0.03)


def test_a_source_loss_has_an_interval_and_a_projection_the_name_of_its_option() -> None:
    known = laws(cpt=fitted("cpt", CPT), forgetting=forgetting())
    plan = make_plan(known, ask(flops="6e19"))
    option = plan.recommendation.option
    at = {"D": option.tokens, "r": option.way.replay, "S": 2.4}
    low, high = np.percentile(forgetting().predict(**at).draws, [2.5, 97.5])
    ends = option.source_interval or (0.0, 0.0)
    assert ends == pytest.approx((low, high), rel=0.01)
    assert plan.rows()[1]["source loss"].endswith("[{:#.4g}, {:#.4g}]".format(*ends))
    assert f"`{option.name}` is a projection, " in plan.recommendation.sure
    assert "memory" in plan.rows()[1]  # of no GPU that was named
    assert "memory/GPU" in make_plan(known, ask(flops="6e19", gpu="h100")).rows()[0]


def test_a_surer_law_needs_less_replay() -> None:
    spreads = (0.001, 0.02, 0.05)
    shares = [kept(forgetting=forgetting(spread)).option.way.replay for spread in spreads]
    assert shares == sorted(shares) and shares[0] < shares[-1]


def kept(**known: Law) -> Recommendation:
    asked = ask(flops="6e19", bases=BASES[:1], max_forgetting="1%")
    return make_plan(laws(cpt=fitted("cpt", CPT), **known), asked).recommendation


def test_a_base_that_needs_none_and_a_share_outside_the_measured_ones() -> None:
    needless, law = kept(forgetting=forgetting(F=1e15, W=1e-9)), forgetting()
    assert needless.option.way.replay == 0
    said = [needless.replay, kept().replay]  # the second is without a law of forgetting
    assert kept().option.way.replay == 0.25
    for measured in ((0.0, 0.5), (0.0, 0.01)):
        ranged = replace(law, range=law.range | {"r": measured})
        said.append(kept(forgetting=ranged).replay)
    golden("plan/replay that keeps the source", "\n".join(said))


def test_the_share_is_interpolated_between_measured_ones() -> None:
    """Where runs have measured shares at that length, their losses count more than the curve."""
    shares, checkpoints = np.array([0.0, 0.1, 0.3, 0.5]), np.geomspace(1e9, 1e10, 5)
    r, D = (grid.ravel() for grid in np.meshgrid(shares, checkpoints, indexing="ij"))
    truth = 2.4 * (
        1 + 0.05 * (D / 1e10) ** 0.3 * np.interp(r, [0, 0.1, 0.3, 0.5], [1, 0.8, 0, -0.1])
    )
    runs = [f"run {share}" for share in r]
    law = fit("forgetting", truth, D=D, r=r, S=np.full_like(D, 2.4), runs=runs, draws=30)
    share = kept(forgetting=law).option.way.replay
    exact = np.interp(-0.01, [-0.04, 0.0], [0.1, 0.3])  # 0.25, in a straight line
    assert exact <= share < exact + 0.04  # as sure as 0.4 % of scatter lets it be


def test_a_loss_that_is_not_known_is_assumed_or_missing() -> None:
    for ends, code in (({"S": (2.0, 3.0)}, "source_loss_assumed"), ({}, "source_loss_missing")):
        law = Law("forgetting", FORGET, range=ends)
        plan = make_plan(laws(cpt=fitted("cpt", CPT), forgetting=law), ask(flops="6e19"))
        assert code in codes(plan)
        assert (plan.options[0].source_loss is not None) == bool(ends)


def test_what_cannot_be_kept_is_refused_or_left_out() -> None:
    hopeless = forgetting(W=5.0, B=1e14)
    asked = {"flops": "6e19", "bases": BASES[:1], "max_forgetting": "1%"}
    with pytest.raises(UserError) as caught:
        make_plan(laws(cpt=fitted("cpt", CPT), forgetting=hopeless), ask(**asked))
    assert (caught.value.code, caught.value.where) == ("cannot_keep", "--max-forgetting")
    assert caught.value.hint
    with pytest.raises(UserError, match="no_cpt_law"):
        make_plan(printed("hoffmann2022"), ask(flops="1e20", max_forgetting="1%"))
    for wrong in ("1.5", "120%", "-1%", "some"):
        with pytest.raises(UserError, match="is not a share"):
            ask(flops="1e20", max_forgetting=wrong)


def test_the_written_recipe_has_the_share(tmp_path: Path) -> None:
    known = laws(cpt=fitted("cpt", CPT), forgetting=forgetting(F=1e4, B=1e7))
    asked = ask(params="100k", tokens="2M", max_forgetting="1%")
    plan = make_plan(known, asked)
    assert any("source loss of" in str(caution) for caution in plan.warnings)  # a projection
    write_recipe(plan, tmp_path / "recipe.yaml")
    (share,) = load_recipe(tmp_path / "recipe.yaml").train.replay.values()
    assert 0 < share == pytest.approx(plan.recommendation.option.way.replay)
