"""The decision rule: what cannot be run is left out, laws that contradict do not decide."""

from dataclasses import replace

import numpy as np
import pytest

from tests.golden import golden
from tests.plan.test_plan import CPT, RANGE, SCRATCH, codes, fitted, laws, printed
from tongues.errors import Caution, UserError
from tongues.hardware import Cluster, Gpu
from tongues.laws import Law, fit
from tongues.plan import (
    Known,
    Project,
    ask,
    gather_laws,
    make_plan,
    published_projects,
    read_laws,
)

PAIR = ("zheng2024-scratch", "zheng2024-cpt")
BOTH = {"scratch": fitted("chinchilla", SCRATCH), "cpt": fitted("cpt", CPT)}


def test_laws_that_contradict_their_authors_do_not_decide() -> None:
    plan = make_plan(printed(*PAIR), ask(flops="1e20"))
    assert [round(option.loss, 3) for option in plan.options] == [2.123, 2.365]
    taken = plan.recommendation
    assert not taken.decided and taken.by == "" and taken.verdict is None
    assert [row[""] for row in plan.rows()] == ["?", " "]
    golden("plan/laws that contradict their authors", "\n".join(plan.sentences()))


@pytest.mark.parametrize(
    ("flops", "words"),
    [
        ("1e12", "train both ways on your own text and tokenizer, 1e+12 FLOPs each"),
        ("1e14", "1e+13 FLOPs: a recipe with `pilot: {source: …, target: qab, share: 10%}`"),
        ("1e15", "1e+13 FLOPs: a recipe with `pilot: {source: …, target: qab}`"),
    ],
)
def test_a_pilot_is_never_too_small_to_train(flops: str, words: str) -> None:
    scratch = {"E": 1.0, "A": 30.0, "B": 90.0, "alpha": 0.3, "beta": 0.3}
    known = laws(
        scratch=Law("chinchilla", scratch, source="one", target="qab"),
        cpt=Law("cpt", scratch | {"B": 80.0, "gamma": 0.02}, source="another", target="qab"),
    )
    plan = make_plan(known, ask(flops=flops))
    assert words in next(line for line in plan.sentences() if line.startswith("to be sure"))


def test_published_projects_decide_where_they_agree() -> None:
    question = ask(params="8B", tokens="80B", bases=["swiss-ai/Apertus-8B-2509"], language="el")
    taken = make_plan(read_laws(()), question).recommendation
    assert taken.decided and taken.by == "published"
    assert taken.option.way.strategy == "cpt" and taken.option.way.replay == 0.25
    assert taken.verdict and len(taken.verdict.nearest) >= 3
    far = ask(params="8B", tokens="3T", bases=["swiss-ai/Apertus-8B-2509"])
    undecided = make_plan(read_laws(()), far).recommendation
    assert not undecided.decided and "from scratch was the better one" in undecided.why
    lonely = make_plan(read_laws(()), question, projects=read_projects_of_scratch()).recommendation
    assert not lonely.decided


def read_projects_of_scratch() -> list[Project]:
    kept = [one for one in published_projects() if one.method == "scratch"]
    return [*kept, *(one for one in published_projects() if one.project.startswith("BLUUMI"))]


def test_a_base_that_knows_the_language_is_measured_first() -> None:
    asked = {"params": "8B", "tokens": "50B", "bases": ["meta-llama/Llama-3.1-8B"]}
    known = make_plan(read_laws(()), ask(**asked, language="de")).recommendation
    assert not known.decided and "measure the base first" in known.why
    other = make_plan(read_laws(()), ask(**asked, language="fi")).recommendation
    assert other.decided and other.by == "published"
    measured = make_plan(read_laws(()), ask(**asked, language="de", base_loss="4")).recommendation
    assert measured.decided


def test_laws_of_other_text_are_not_compared() -> None:
    for names in (
        ("hoffmann2022", "zheng2024-cpt"),
        ("zheng2024-scratch", "zheng2024-cpt-compute"),
    ):
        taken = make_plan(printed(*names), ask(flops="1e20")).recommendation
        assert not taken.decided
    alone = make_plan(printed("hoffmann2022"), ask(flops="1e21", bases=["a=1B@20B"]))
    assert "borrowed_cpt" in codes(alone) and len(alone.options) == 2


def test_laws_of_usual_bases_do_not_decide_about_overtrained_ones() -> None:
    usual = make_plan(laws(**BOTH), ask(flops="1e20", bases=["a=1B@20B"])).recommendation
    assert usual.decided and usual.by == "laws"
    far = make_plan(laws(**BOTH), ask(flops="1e20", bases=["a=1B@9T"])).recommendation
    assert far.by != "laws" and "9,000 tokens per parameter" in far.why


def test_two_laws_of_one_strategy_are_one_option_and_its_spread() -> None:
    names = ("zheng2024-scratch", "zheng2024-scratch-compute")
    (option,) = make_plan(printed(*names), ask(flops="1e19")).options
    low, high = option.interval or (9.0, 0.0)
    assert low < 2.401 < option.loss < 2.676 < high
    assert option.params  # by the law that knows sizes


def test_losses_that_draws_do_not_tell_apart_are_not_decided() -> None:
    near = SCRATCH | {"gamma": 0.0, "B": 640.0}
    known = laws(scratch=fitted("chinchilla", SCRATCH, 0.08), cpt=fitted("cpt", near, 0.02))
    for question in (ask(flops="1e20"), ask(target_loss="2.3")):
        taken = make_plan(known, question).recommendation
        assert taken.share is not None and taken.share < 0.8
        assert not taken.decided and "of their draws" in taken.why


def test_where_text_is_short_the_advice_stops_early() -> None:
    question = ask(flops="1e22", params="1B", available_tokens="20B")
    plan = make_plan(laws(scratch=fitted("chinchilla", SCRATCH)), question)
    taken = plan.recommendation
    full = plan.options[0]
    assert full.epochs == pytest.approx(16) and full.flops == pytest.approx(6 * 1e9 * 16 * 20e9)
    assert taken.option.early and taken.option.name.endswith("stopped early")
    assert taken.option.loss == pytest.approx(full.loss * 1.005, rel=1e-6)
    assert taken.option.flops < 0.8 * full.flops and taken.best is full
    golden("plan/text that is short", "\n".join(plan.sentences()))


def test_bases_read_text_no_more_often_than_published_projects() -> None:
    question = ask(flops="1e22", bases=["a=1B@20B"], available_tokens="1B")
    plan = make_plan(laws(**BOTH), question)
    cpt = next(option for option in plan.options if option.base)
    assert cpt.epochs == pytest.approx(5)
    assert cpt.tokens == pytest.approx(5e9 / 0.75)
    golden("plan/a base that reads its text five times", "\n".join(plan.sentences()))
    with pytest.raises(UserError, match="too_many_epochs"):
        tokens = ask(params="1B", tokens="100B", available_tokens="1B")
        make_plan(printed("hoffmann2022"), tokens)


@pytest.mark.parametrize(
    ("code", "asked"),
    [
        ("out_of_memory", {"params": "8B", "tokens": "100B", "gpu": "rtx4090"}),
        ("too_long", {"cost": "100000000", "gpu": "h100"}),
        ("worse_than_guessing", {"flops": "1e13"}),
        ("loss_out_of_reach", {"target_loss": "1.5"}),
    ],
)
def test_what_cannot_be_run_is_refused_with_the_reason(code: str, asked: dict[str, str]) -> None:
    with pytest.raises(UserError) as refused:
        make_plan(printed("hoffmann2022-full"), ask(**asked))
    assert refused.value.code == code and refused.value.hint


def test_the_largest_that_fits_takes_the_place_of_one_that_does_not() -> None:
    small = Gpu("small", peak=1e15, memory=4e9, price=1.0, watts=300)
    question = replace(ask(flops="1e22", gpu="h100"), cluster=Cluster(small, 500, 0.4, 1.0))
    plan = make_plan(printed("hoffmann2022-full"), question)
    option = plan.options[0]
    assert option.memory_per_gpu and 2e9 < option.memory_per_gpu <= 4e9
    free = make_plan(printed("hoffmann2022-full"), ask(flops="1e22")).options[0]
    assert (free.params or 0) > 2 * (option.params or 0) and free.loss < option.loss


def test_a_base_that_is_better_untouched_is_left_alone() -> None:
    asked = {"flops": "1e19", "bases": ["huge=70B@15T"], "replay": "0"}
    plan = make_plan(read_laws(()), ask(**asked))
    cpt = next(option for option in plan.options if option.base)
    plan = make_plan(read_laws(()), ask(**asked, base_loss=f"{cpt.loss - 0.1:.3f}"))
    assert not any(option.base for option in plan.options)
    assert not plan.recommendation.decided  # that is no reason to start from scratch
    assert "above_base" in {caution.code for caution in plan.left_out}
    plan = make_plan(read_laws(()), ask(**asked, base_loss=f"{cpt.loss + 0.1:.3f}"))
    assert any(option.base for option in plan.options)


def test_a_law_that_its_runs_do_not_pin_down_is_left_out_or_refused() -> None:
    loose = Caution("at_bound", "alpha stopped at the edge of what is searched, 3")
    cpt = replace(fitted("cpt", CPT), warnings=(loose,))
    plan = make_plan(laws(scratch=BOTH["scratch"], cpt=cpt), ask(flops="1e20"))
    assert [option.name for option in plan.options] == ["scratch"]
    assert {caution.code for caution in plan.left_out} == {"not_pinned_down"}
    with pytest.raises(UserError, match="alpha stopped") as caught:
        make_plan(laws(cpt=cpt), ask(flops="1e20", bases=["a=1B@20B"]))
    assert (caught.value.code, caught.value.where) == ("not_pinned_down", "--law")
    scratch = replace(BOTH["scratch"], warnings=(loose,))
    with pytest.raises(UserError) as caught:
        make_plan(laws(scratch=scratch, cpt=cpt), ask(flops="1e20"))
    assert caught.value.what.count("do not pin it down") == 1


def test_what_stops_early_is_within_half_a_percent_of_the_loss_that_is_shown() -> None:
    random = np.random.default_rng(0)
    N = np.repeat([5e4, 1e5, 2e5, 4e5], 5)
    D = np.tile([2.5e3, 5e3, 1e4, 2e4, 4e4], 4)
    losses = (2.2 + 15.0 / N**0.34 + 1.5e5 / D**1.36) * (1.0 + 0.05 * random.normal(size=20))
    law = fit("chinchilla", losses.round(4), N=N, D=D, fix={"alpha": 0.34}, draws=200)
    taken = [
        make_plan(laws(scratch=law), ask(flops=flops)).recommendation for flops in ("1e11", "2e11")
    ]
    assert taken[1].option.early
    assert all(each.option.loss <= 1.005 * each.best.loss for each in taken)


def test_what_has_no_option_is_left_out() -> None:
    none = Law("cpt", CPT | {"gamma": 0.3})
    with pytest.raises(UserError, match="no_interior_optimum"):
        make_plan(laws(cpt=none), ask(flops="1e21"))
    assert make_plan(laws(cpt=none), ask(flops="1e21", params="1B")).options
    floor = Law("cpt", CPT | {"E": 2.2}, range=RANGE)
    for cpt, question in ((none, ask(flops="1e21")), (floor, ask(target_loss="2.1"))):
        plan = make_plan(laws(scratch=Law("chinchilla", SCRATCH), cpt=cpt), question)
        assert len(plan.options) == 1 and len(plan.left_out) == 1
        assert any(line.startswith("left out: `cpt`") for line in plan.sentences())


def test_at_most_five_caveats_and_all_on_request() -> None:
    asked = {"hours": "72", "gpu": "h100", "gpus": "8", "language": "sw", "available_text": "3GB"}
    question = ask(**asked, bases=["meta-llama/Llama-3.2-1B"], max_forgetting="1%", replay="0")
    plan = make_plan(read_laws(()), question)
    assert 0 < len(plan.caveats) <= 5 < len(plan.warnings)
    assert plan.caveats[0].code == "no_replay"
    assert all(str(caution) in plan.summary() for caution in plan.warnings)


def test_the_cheapest_is_taken_and_not_the_smallest() -> None:
    """Both bases come within 0.5 % in the end; the larger gets there for less compute."""
    flat = {"E": 1.6, "A": 400.0, "B": 80.0, "alpha": 0.36, "beta": 0.35, "gamma": 0.0}
    question = ask(flops="3e22", bases=["large=2B@40B", "small=1.8B@36B"], replay="0")
    plan = make_plan(laws(cpt=fitted("cpt", flat, 0.001)), question)
    taken = plan.recommendation.option
    small = next(o for o in plan.options if o.base == "small")
    assert taken.base == "large" and taken.early
    enough = small.way.compute(plan.recommendation.best.loss * 1.005)
    assert enough < small.flops and taken.flops < 0.8 * enough
    assert [option.base for option in plan.recommendation.as_good] == ["small"]


def test_a_law_of_repeated_text_that_turns_upward_is_followed() -> None:
    terms = {"E": 1.87, "A": 521.0, "B": 1488.0, "alpha": 0.353, "beta": 0.353}
    excess = {"M": 8.0, "G": 0.0075, "a": 1.7, "b": 1.3, "c": 0.4, "k": 7.0}
    law = Law("overfitted", terms | excess)
    question = ask(flops="1e21", params="2B", available_tokens="1.5B")
    plan = make_plan(gather_laws([Known("own", law, "scratch")]), question)
    option = plan.recommendation.option
    D = np.geomspace(1.5e9, 24e9, 200)
    losses = law.loss(2e9, D, U=1.5e9)
    assert option.loss <= losses.min() * 1.006
    assert option.tokens is not None and option.tokens <= 1.05 * D[np.argmin(losses)]
    assert "borrowed_repeats" not in codes(plan)
    free = make_plan(
        gather_laws([Known("own", law, "scratch")]), ask(flops="1e21", available_tokens="1.5B")
    )
    assert (free.recommendation.option.params or 0) < 2e9


def test_a_best_size_far_from_all_runs_does_not_decide() -> None:
    near = {"N": (1e7, 2e8), "D": (5e7, 1.6e10), "D/N": (5.0, 80.0)}
    runaway = {"E": 1.4, "A": 30.0, "B": 90.0, "alpha": 0.2, "beta": 0.2, "gamma": 0.115}
    usual = {"E": 1.5, "A": 250.0, "B": 400.0, "alpha": 0.36, "beta": 0.3}
    both = [Known("s", Law("chinchilla", usual, range=near), "scratch")]
    both.append(Known("c", Law("cpt", runaway, range=near), "cpt"))
    taken = make_plan(gather_laws(both), ask(flops="1e20")).recommendation
    assert not taken.decided and "`cpt` is a projection" in taken.why
    assert taken.option.params == pytest.approx(5.77e9, rel=1e-2)  # by its closed form 13T
    held = make_plan(gather_laws(both), ask(flops="1e20", params="100B")).recommendation
    assert not held.decided
