"""Experts as an option of a plan, next to the dense model, scratch and continued training."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.laws.test_experts import START, TRUE, study
from tests.plan.test_plan import SCRATCH, codes, fitted
from tongues.errors import UserError
from tongues.laws import Law, fit, read_laws_file
from tongues.laws.answer import FitAnswer
from tongues.laws.experts import fit_experts
from tongues.plan import Known, ask, gather_laws, make_plan, write_recipe


@pytest.fixture(scope="module")
def law() -> Law:
    return fit_experts(study(), draws=40)[0][-1]


def known(*laws: Law) -> tuple[Known, ...]:
    return tuple(Known(one.form, one, one.strategy or "scratch") for one in laws)


def test_dense_and_every_number_of_experts_are_options_of_one_cost(law: Law) -> None:
    plan = make_plan(gather_laws(known(law)), ask(flops="6e13", gpu="h100", gpus="8"))
    assert [option.name for option in plan.options] == ["dense", "2 experts", "4 experts"]
    assert plan.recommendation.decided and plan.recommendation.by == "laws"
    taken = plan.recommendation.option
    assert taken.way.experts == 4 and taken.to_json()["experts"] == 4
    assert {option.params for option in plan.options} == {1e6}
    assert [option.tokens for option in plan.options] == pytest.approx([1e7] * 3)
    assert len({option.hours for option in plan.options}) == 1
    dense, _, most = plan.options
    for option, k in ((dense, 1.0), (most, 4.0)):
        real = float(TRUE.loss(D=1e7, S=START, k=k))
        low, high = option.interval or (9.0, 0.0)
        assert low < real < high
    assert "1M parameters on 10M tokens in all, 2.5M each" in plan.recommendation.why
    assert any("weights in bfloat16: 8 MB, 2 MB each" in note for note in most.notes)
    assert plan.recommendation.replay == ""


def test_experts_that_gain_nothing_are_not_advised() -> None:
    truth = Law("experts", TRUE.params | {"G": 0.7})
    law = fit_experts(study(truth=truth), draws=20)[0][-1]
    plan = make_plan(gather_laws(known(law)), ask(flops="6e13"))
    assert plan.recommendation.option.name == "dense"
    assert "Train one model on all languages from" in plan.recommendation.why


def test_each_expert_is_trained_on_its_part_of_the_gpus(law: Law) -> None:
    plan = make_plan(gather_laws(known(law)), ask(flops="6e13", gpu="h100", gpus="4"))
    dense, _, most = (option.memory_per_gpu or 0.0 for option in plan.options)
    alone = make_plan(gather_laws(known(law)), ask(flops="6e13", gpu="h100", gpus="1"))
    assert most == alone.options[0].memory_per_gpu and most >= dense


def test_laws_of_other_text_do_not_decide_against_experts(law: Law) -> None:
    both = gather_laws((*known(law), Known("own", fitted("chinchilla", SCRATCH), "scratch")))
    plan = make_plan(both, ask(flops="6e18"))
    names = [option.name for option in plan.options if not option.early]
    assert names == ["dense", "2 experts", "4 experts", "scratch"]
    assert not plan.recommendation.decided
    assert "different text or tokenizers" in plan.recommendation.why
    assert all(option.compute_saved is None for option in plan.options)


def test_a_law_from_scratch_on_the_same_target_is_in_the_same_table(law: Law) -> None:
    scratch = replace(fitted("chinchilla", SCRATCH), target=law.target)
    both = gather_laws((*known(law), Known("own", scratch, "scratch")))
    plan = make_plan(both, ask(flops="6e14"))
    assert plan.recommendation.decided and plan.recommendation.option.way.experts == 4
    assert all(o.compute_saved is not None for o in plan.options if o.way.experts)


def test_a_law_file_carries_them(law: Law, tmp_path: Path) -> None:
    FitAnswer(experts=(law,)).write(tmp_path / "law.json")
    (again,) = read_laws_file(tmp_path / "law.json")
    assert again.range["N"] == (1e6, 1e6) and again.target == law.target
    plan = make_plan(gather_laws(known(again)), ask(flops="6e13"))
    assert plan.recommendation.option.way.experts == 4


def test_a_base_of_another_size_is_none_of_theirs(law: Law) -> None:
    of_bases = ("same=1M@20M", "other=2M@20M")
    plan = make_plan(gather_laws(known(law)), ask(flops="6e13", bases=of_bases))
    assert {option.base for option in plan.options} == {"same"}


def test_an_ensemble_is_not_written_as_one_run(law: Law, tmp_path: Path) -> None:
    plan = make_plan(gather_laws(known(law)), ask(flops="6e13"))
    with pytest.raises(UserError, match="section `experts`"):
        write_recipe(plan, tmp_path / "recipe.yaml")


def test_own_laws_without_ensembles_say_what_pilot_would_tell() -> None:
    N, D = [1e7, 3e7, 1e8, 1e7, 3e7, 1e8, 3e8], [1e9, 1e9, 1e9, 4e9, 4e9, 4e9, 4e9]
    loss = Law("chinchilla", SCRATCH).loss(N, D)
    own = replace(fit("chinchilla", loss, draws=20, N=N, D=D), target="sw", warnings=())
    plan = make_plan(gather_laws(known(own)), ask(flops="1e20", gpu="h100", gpus="8"))
    assert "no_experts_law" in codes(plan)
    sentence = next(one.sentence for one in plan.warnings if one.code == "no_experts_law")
    assert "2e+18 FLOPs, 0.18 h and 3.5 US$" in sentence


def test_a_line_of_one_base_plans_too() -> None:
    line = Law("line", {"A": 15.0, "beta": 0.1}, range={"D": (1e6, 1e8)}, target="sw")
    laws = gather_laws([Known("one", line, "cpt")])
    plan = make_plan(laws, ask(flops="6e16", bases=("b=1B@20B",), base_loss="4.0"))
    option = plan.options[0]
    assert option.tokens == pytest.approx(1e7) and option.way.replay == 0.25
    assert option.loss == pytest.approx(float(line.loss(D=7.5e6)), rel=0.01)
