import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tongues.errors import Caution, UserError
from tongues.laws import Law, fit, frontier, implied_saving, preset
from tongues.plan import Known, Plan, ask, gather_laws, make_plan
from tongues.plan.recommend import FLAT

SCRATCH = {"E": 1.6, "A": 400.0, "B": 700.0, "alpha": 0.36, "beta": 0.32}
CPT = {"E": 1.6, "A": 400.0, "B": 80.0, "alpha": 0.36, "beta": 0.22, "gamma": 0.03}
FORGET = {"F": 1e9, "A": 0.1, "kappa": 0.2, "W": 0.01, "B": 1e10, "beta": 0.095}
RANGE = {"N": (1e8, 2e9), "D": (1e9, 1e11), "loss": (2.0, 3.0)}


def fitted(form: str, params: dict[str, float], spread: float = 0.01) -> Law:
    """A law with draws about its parameters; laws of one spread share the draws they share."""
    random = np.random.default_rng(0)
    wobble = {name: np.exp(spread * random.normal(size=200)) for name in sorted(CPT)}
    draws = {name: value * wobble[name] for name, value in params.items()}
    return Law(form, params, draws=draws, range=RANGE)


def laws(**known: Law) -> Any:
    return gather_laws(
        Known(name, law, "cpt" if "cpt" in name else "scratch") for name, law in known.items()
    )


def printed(*names: str) -> Any:
    return laws(**{name: preset(name) for name in names})


def codes(plan: Plan) -> set[str]:
    return {caution.code for caution in plan.warnings}


def test_from_scratch_by_hand_computed_numbers() -> None:
    plan = make_plan(printed("zheng2024-scratch"), ask(flops="1e21", gpu="h100", gpus="8"))
    (option,) = plan.options
    G = (0.4 * 420 / (0.3 * 719.5)) ** (1 / 0.7)
    N = G * (1e21 / 6) ** (0.3 / 0.7)
    assert option.params == pytest.approx(N)
    assert option.tokens == pytest.approx(1e21 / 6 / N)
    assert option.loss == pytest.approx(1.55 + 420 / N**0.4 + 719.5 / (1e21 / 6 / N) ** 0.3)
    assert option.hours == pytest.approx(1e21 / (8 * 989e12 * 0.4 * 3600))
    assert option.cost == pytest.approx((option.hours or 0) * 8 * 2.5)
    assert option.interval is None and option.projection is True
    assert {"assumed_mfu", "assumed_price", "projection", "rounded"} <= codes(plan)


def test_the_flat_range_ends_where_the_loss_is_half_a_percent_higher() -> None:
    plan = make_plan(printed("hoffmann2022"), ask(flops="1e21"))
    flat, law = plan.recommendation.flat_range, preset("hoffmann2022")
    assert flat is not None
    for N, D in zip(flat.params, reversed(flat.tokens), strict=True):
        assert pytest.approx(1e21) == 6 * N * D
        assert float(law.loss(N, D)) == pytest.approx(plan.options[0].loss * (1 + FLAT), rel=1e-9)
    assert flat.params[0] < (plan.options[0].params or 0) < flat.params[1]


def test_the_published_pair_saves_what_its_curves_say() -> None:
    names = ("zheng2024-scratch-compute", "zheng2024-cpt-compute")
    plan = make_plan(printed(*names), ask(flops="1e20"))
    scratch, cpt = plan.options
    assert plan.recommendation.option is cpt
    assert cpt.params is None and cpt.tokens is None and scratch.compute_saved is None
    needed = 1e20 / (1 - (cpt.compute_saved or 0))
    assert needed == pytest.approx((33.69907 / (31.9594 * 1e20**-0.0575)) ** (1 / 0.0579))
    implied = float(implied_saving(preset(names[0]), preset(names[1]), needed))
    assert cpt.compute_saved == pytest.approx(implied, rel=1e-6)
    assert implied == pytest.approx(0.45, abs=0.01)


def test_the_published_laws_by_size_contradict_those_by_compute_and_the_plan_says_so() -> None:
    plan = make_plan(printed("zheng2024-scratch", "zheng2024-cpt"), ask(flops="1e20"))
    assert [round(option.loss, 3) for option in plan.options] == [2.123, 2.365]
    assert plan.recommendation.option.way.strategy == "scratch"
    assert "negative_saving" in codes(plan)
    names = ("zheng2024-scratch", "zheng2024-cpt", "zheng2024-scratch-compute")
    all_four = printed(*names, "zheng2024-cpt-compute")
    for question in (ask(flops="1e20"), ask(target_loss="2.4")):
        plan = make_plan(all_four, question)
        assert "laws_disagree" in codes(plan)
        assert "contradict" in plan.recommendation.sure


def test_bases_fix_the_size_and_tokens_follow() -> None:
    known = laws(scratch=fitted("chinchilla", SCRATCH), cpt=fitted("cpt", CPT))
    bases = ["a=1B@20B", "b=8B@15T"]
    plan = make_plan(known, ask(flops="6e19", bases=bases, gpu="h100"))
    _, a, b = plan.options
    assert (a.params, a.tokens) == (pytest.approx(1e9), pytest.approx(1e10))
    assert (b.params, b.tokens) == (pytest.approx(8e9), pytest.approx(1.25e9))
    assert a.projection is False
    assert b.projection is True and b.beyond == {"N": pytest.approx(4)}
    assert {"overtrained_base", "projection", "out_of_memory"} <= codes(plan)
    assert "base_presumed" not in codes(plan)
    assert json.dumps(plan.to_json())


def test_a_target_loss_is_reached_with_the_fewest_flops() -> None:
    known = laws(scratch=fitted("chinchilla", SCRATCH), cpt=fitted("cpt", CPT))
    plan = make_plan(known, ask(target_loss="2.3", bases=["a=1B@20B", "b=8B@100B"]))
    for option in plan.options:
        assert option.loss == pytest.approx(2.3, rel=1e-9)
        assert option.params and option.tokens
        assert option.flops == pytest.approx(6 * option.params * option.tokens)
    assert plan.recommendation.option.flops == min(option.flops for option in plan.options)
    exact = (2.3 - 1.6 - 400 / 1e9**0.36) * 1e9**0.03
    assert plan.options[1].tokens == pytest.approx((80 / exact) ** (1 / 0.22), rel=1e-9)
    law = frontier(known.find("scratch").law)
    above = (2.3 - law.params["E"]) / law.params["A"]
    assert plan.options[0].flops == pytest.approx(above ** (-1 / law.params["gamma"]), rel=1e-9)


def test_settled_size_or_tokens() -> None:
    plan = make_plan(printed("hoffmann2022"), ask(flops="6e20", params="1B"))
    assert plan.options[0].tokens == pytest.approx(1e11)
    assert plan.recommendation.flat_range is None
    plan = make_plan(printed("hoffmann2022"), ask(flops="6e20", tokens="1B"))
    assert plan.options[0].params == pytest.approx(1e11)
    plan = make_plan(printed("hoffmann2022"), ask(params="1B", tokens="20B"))
    assert plan.options[0].flops == pytest.approx(1.2e20)
    plan = make_plan(printed("hoffmann2022"), ask(flops="1e21", params="10M"))
    assert any("are best" in note for note in plan.options[0].notes)


def test_sure_is_the_share_of_draws_it_wins() -> None:
    known = laws(scratch=fitted("chinchilla", SCRATCH), cpt=fitted("cpt", CPT))
    plan = make_plan(known, ask(flops="1e20"))
    scratch, cpt = plan.options
    wins = cpt.way.loss_draws(np.array(1e20)) < scratch.way.loss_draws(np.array(1e20))
    assert plan.recommendation.share == pytest.approx(wins.mean())
    assert cpt.interval and cpt.interval[0] < cpt.loss < cpt.interval[1]
    low, high = cpt.compute_saved_interval or (1, 0)
    assert low < (cpt.compute_saved or math.nan) < high
    assert f"of {len(wins)} resampled fits" in plan.recommendation.sure


def test_what_cannot_be_told_apart_is_told_so() -> None:
    near = SCRATCH | {"gamma": 0.0, "B": 650.0}
    known = laws(scratch=fitted("chinchilla", SCRATCH, 0.05), cpt=fitted("cpt", near, 0.01))
    for question in (ask(flops="1e20"), ask(target_loss="2.3")):
        recommendation = make_plan(known, question).recommendation
        assert recommendation.share is not None and recommendation.share < 0.95
        assert "cannot be told apart from `scratch`" in recommendation.sure
        assert recommendation.as_good == ()


def test_what_comes_as_near_as_nothing_is_told_so() -> None:
    near = SCRATCH | {"gamma": 0.0, "B": 699.9}
    for law in (fitted("cpt", near, 0.02), Law("cpt", near)):
        known = laws(scratch=fitted("chinchilla", SCRATCH, 0.05), cpt=law)
        for question in (ask(flops="1e20"), ask(target_loss="2.3")):
            recommendation = make_plan(known, question).recommendation
            assert recommendation.share is None
            assert "`cpt` and `scratch` come within 0.5%" in recommendation.sure
            assert "hardly matters" in recommendation.sure


def test_a_smaller_model_is_taken_where_the_larger_gains_next_to_nothing() -> None:
    known = laws(cpt=fitted("cpt", CPT))
    free = make_plan(known, ask(flops="1e20")).options[0].params or 0
    bases = [f"small={free / 1.5:.0f}@20B", f"best={free:.0f}@20B", f"tiny={free / 20:.0f}@20B"]
    plan = make_plan(known, ask(flops="1e20", bases=bases))
    losses = [option.loss for option in plan.options]
    assert losses[1] < losses[0] < 1.005 * losses[1] < losses[2]
    taken = plan.recommendation
    assert taken.option is plan.options[0]
    assert "a smaller model is cheaper" in taken.why
    assert [option.name for option in taken.as_good] == ["cpt from best"]
    assert "than `cpt from tiny`" in taken.sure
    reached = make_plan(known, ask(target_loss=str(losses[1]), bases=bases)).recommendation
    assert reached.option.name == "cpt from best" and len(reached.as_good) == 1


def test_a_law_that_rests_on_little_does_not_sound_sure() -> None:
    thin = Caution("few_runs", "only 4 runs to resample; intervals are too narrow")
    cpt = replace(fitted("cpt", CPT), warnings=(thin,))
    plan = make_plan(laws(scratch=fitted("chinchilla", SCRATCH), cpt=cpt), ask(flops="1e20"))
    sure = plan.recommendation.sure
    assert sure.startswith("Less than it looks") and "only 4 runs" in sure


def test_a_law_that_its_runs_do_not_pin_down_is_left_out_or_refused() -> None:
    loose = Caution("at_bound", "alpha stopped at the edge of what is searched, 3")
    cpt = replace(fitted("cpt", CPT), warnings=(loose,))
    both = make_plan(laws(scratch=fitted("chinchilla", SCRATCH), cpt=cpt), ask(flops="1e20"))
    assert [option.name for option in both.options] == ["scratch"]
    assert "not_pinned_down" in codes(both)
    with pytest.raises(UserError, match="alpha stopped") as caught:
        make_plan(laws(cpt=cpt), ask(flops="1e20", bases=["a=1B@20B"]))
    assert (caught.value.code, caught.value.where) == ("not_pinned_down", "--law")


def test_tokens_that_vanish_are_beyond_every_range() -> None:
    odd = {"E": 2e-6, "A": 4.6, "B": 2.5e-6, "alpha": 0.02, "beta": 0.01}
    ranged = RANGE | {"D/N": (5.0, 80.0)}
    plan = make_plan(laws(scratch=Law("chinchilla", odd, range=ranged)), ask(flops="1e20"))
    assert (plan.options[0].beyond or {})["D/N"] == math.inf


def test_losses_that_are_noise_are_refused_with_the_reason() -> None:
    random = np.random.default_rng(0)
    N = np.repeat([3e7, 1e8, 3e8, 1e9], 10)
    D = N * np.tile([5, 5, 10, 10, 20, 20, 40, 40, 80, 80], 4)
    losses = random.uniform(2, 4, 40).round(6)
    law = fit("chinchilla", losses, N=N, D=D, draws=20)
    with pytest.raises(UserError, match="do not pin it down") as caught:
        make_plan(laws(scratch=law), ask(flops="1e20"))
    assert caught.value.code == "not_pinned_down"


def test_a_target_loss_has_an_interval_of_compute_and_endless_draws_never_win() -> None:
    cpt = fitted("cpt", CPT)
    cpt.draws["E"][:50] = 2.5  # these never get to 2.3
    known = laws(scratch=fitted("chinchilla", SCRATCH, 0.001), cpt=cpt)
    plan = make_plan(known, ask(target_loss="2.3"))
    scratch, continued = plan.options
    assert scratch.flops_interval and continued.flops_interval
    assert scratch.flops_interval[0] < scratch.flops < scratch.flops_interval[1] < math.inf
    assert continued.flops_interval[1] == math.inf
    assert scratch.interval is None and scratch.params_interval is None
    assert plan.recommendation.option is continued
    assert (plan.recommendation.share or 1) <= 0.75
    data = json.loads(json.dumps(plan.to_json(), allow_nan=False))
    assert data["options"][1]["flops_interval"][1] is None
    assert "∞" in plan.rows()[1]["FLOPs"]
    law = scratch.way.law
    exact = [
        frontier(Law("chinchilla", {k: float(v[i]) for k, v in law.draws.items()}))
        for i in range(200)
    ]
    needed = [((2.3 - f.params["E"]) / f.params["A"]) ** (-1 / f.params["gamma"]) for f in exact]
    assert scratch.flops_interval == pytest.approx(np.percentile(needed, (2.5, 97.5)), rel=0.02)


def test_beyond_the_usual_tokens_per_parameter_is_a_projection() -> None:
    ranged = replace(fitted("cpt", CPT), range=RANGE | {"D/N": (5.0, 80.0), "C": (1e17, 1e21)})
    plan = make_plan(laws(cpt=ranged), ask(flops="2e19", bases=["a=1.8B@36B", "b=400M@8B"]))
    short, usual = plan.options
    assert short.beyond == {"D/N": pytest.approx(5 / (2e19 / 6 / 1.8e9**2))}
    assert usual.beyond == {}
    said = [caution.sentence for caution in plan.warnings if caution.code == "projection"]
    assert len(said) == 1 and "tokens per parameter" in said[0]
    plan = make_plan(laws(cpt=ranged), ask(flops="1e22", bases=["a=1.8B@36B"]))
    assert "C" in (plan.options[0].beyond or {})


def test_repeats_that_decide_are_told() -> None:
    known = laws(scratch=Law("chinchilla", SCRATCH), cpt=Law("cpt", CPT | {"B": 100.0}))
    plenty = make_plan(known, ask(flops="1e20", bases=["a=100M@2B"]))
    assert plenty.recommendation.option.way.strategy == "scratch"
    short = ask(flops="1e20", bases=["a=100M@2B"], available_tokens="20M")
    plan = make_plan(known, short)
    assert plan.recommendation.option.way.strategy == "cpt"
    assert {"repeats_decide", "many_epochs"} <= codes(plan)
    assert "repeats_decide" not in codes(plenty)
    assert "repeat" in plan.recommendation.sure


def test_laws_that_agree_are_not_told_apart_by_the_rule_for_repeats_in_silence() -> None:
    known = laws(scratch=Law("chinchilla", SCRATCH), cpt=Law("extended", SCRATCH | {"gamma": 0.0}))
    plan = make_plan(known, ask(flops="1e20", available_tokens="100M"))
    assert "repeats_decide" in codes(plan)
    assert plan.recommendation.sure.startswith("Less than it looks")
    same = ask(flops="1e20", available_tokens="1T")
    assert "repeats_decide" not in codes(make_plan(known, same))


def test_what_more_compute_hardly_gains_is_told() -> None:
    plan = make_plan(printed("hoffmann2022"), ask(flops="1e20", available_tokens="100M"))
    (option,) = plan.options
    enough = option.way.compute(option.loss * 1.005)
    (said,) = (caution.sentence for caution in plan.warnings if caution.code == "many_epochs")
    assert f"{enough:.3g} FLOPs" in said and enough < 1e20
    assert float(option.way.loss(np.array(enough))) == pytest.approx(option.loss * 1.005)


def test_available_text_says_nothing_to_laws_of_compute() -> None:
    question = ask(flops="1e20", available_tokens="1B")
    assert "available_unused" in codes(make_plan(printed("zheng2024-scratch-compute"), question))


def test_replay_is_the_smallest_that_keeps_the_source() -> None:
    known = laws(cpt=fitted("cpt", CPT), forgetting=Law("forgetting", FORGET))
    question = ask(flops="6e19", bases=["a=1B@20B"], source_loss="2.4")
    plan = make_plan(known, question)
    assert [option.way.replay for option in plan.options] == [0, 0.01, 0.05, 0.1, 0.2, 0.5]
    for option in plan.options:
        law = Law("forgetting", FORGET)
        expected = float(law.loss(D=1e10, r=option.way.replay, S=2.4))
        assert option.source_loss == pytest.approx(expected)
        assert option.tokens_target == pytest.approx(1e10 * (1 - option.way.replay))
    rises = [(option.source_loss or 0) / 2.4 - 1 for option in plan.options]
    first = next(i for i, rise in enumerate(rises) if rise <= 0.02)
    assert plan.recommendation.index == first > 0
    assert "smallest share" in plan.recommendation.replay
    assert [o.loss for o in plan.options] == sorted(o.loss for o in plan.options)


def test_replay_without_a_law_of_forgetting_or_a_loss_before() -> None:
    known = laws(cpt=fitted("cpt", CPT))
    plan = make_plan(known, ask(flops="6e19", replay="0,20%"))
    assert len(plan.options) == 2 and plan.options[1].source_loss is None
    assert {"no_forgetting_law", "base_presumed"} <= codes(plan)
    assert "5 to 30 %" in plan.recommendation.replay
    known = laws(cpt=fitted("cpt", CPT), forgetting=Law("forgetting", FORGET))
    assert "source_loss_missing" in codes(make_plan(known, ask(flops="6e19")))
    ranged = Law("forgetting", FORGET, range={"S": (2.0, 3.0)})
    plan = make_plan(laws(cpt=fitted("cpt", CPT), forgetting=ranged), ask(flops="6e19"))
    assert "source_loss_assumed" in codes(plan)
    assert plan.options[0].source_loss is not None


def test_repeats_are_valued_and_borrowed_where_no_law_tells() -> None:
    question = ask(flops="1e21", available_tokens="5B")
    plan = make_plan(printed("hoffmann2022", "muennighoff2023"), question)
    (option,) = plan.options
    assert option.epochs == pytest.approx((option.tokens or 0) / 5e9)
    assert "borrowed_repeats" not in codes(plan)
    borrowed = make_plan(printed("hoffmann2022"), question)
    assert borrowed.options[0].loss == pytest.approx(option.loss)
    assert "borrowed_repeats" in codes(borrowed)
    assert option.loss > make_plan(printed("hoffmann2022"), ask(flops="1e21")).options[0].loss
    assert any("different text" in note for note in option.notes)
    alone = make_plan(printed("muennighoff2023"), question).options[0]
    assert alone.epochs and alone.epochs > 1
    plenty = make_plan(printed("muennighoff2023"), ask(flops="1e21")).options[0]
    assert plenty.epochs is None and plenty.loss < alone.loss


def test_what_has_no_option_is_told_or_refused() -> None:
    with pytest.raises(UserError, match="loss_out_of_reach"):
        make_plan(printed("hoffmann2022"), ask(target_loss="1.5"))
    none = Law("cpt", CPT | {"gamma": 0.3})
    with pytest.raises(UserError, match="no_interior_optimum"):
        make_plan(laws(cpt=none), ask(flops="1e21"))
    assert make_plan(laws(cpt=none), ask(flops="1e21", params="1B")).options
    plan = make_plan(laws(scratch=Law("chinchilla", SCRATCH), cpt=none), ask(flops="1e21"))
    assert len(plan.options) == 1 and "no_interior_optimum" in codes(plan)
    floor = Law("cpt", CPT | {"E": 2.2})
    known = laws(scratch=Law("chinchilla", SCRATCH), cpt=floor)
    plan = make_plan(known, ask(target_loss="2.1"))
    assert len(plan.options) == 1 and "loss_out_of_reach" in codes(plan)


def test_bases_without_a_law_for_them_are_told_unused() -> None:
    question = ask(flops="1e20", bases=["a=1B@20B"])
    assert "bases_unused" in codes(make_plan(printed("hoffmann2022"), question))
    plan = make_plan(printed("zheng2024-cpt-compute"), question)
    assert {"bases_unused", "base_presumed"} <= codes(plan)
    mixed = printed("zheng2024-scratch", "zheng2024-cpt-compute")
    assert "two_kinds" in codes(make_plan(mixed, ask(flops="1e20")))


def test_a_law_that_does_not_reach_so_low_is_doubted() -> None:
    assert "worse_than_guessing" in codes(make_plan(printed("hoffmann2022"), ask(flops="1e11")))


def test_json_and_text_have_all_that_is_promised() -> None:
    known = laws(scratch=fitted("chinchilla", SCRATCH), cpt=fitted("cpt", CPT))
    plan = make_plan(known, ask(cost="5000", gpu="h100", gpus="8", available_tokens="1B"))
    data = json.loads(json.dumps(plan.to_json(), allow_nan=False))
    assert {"law", "laws", "budget", "options", "recommendation", "warnings"} == set(data)
    assert data["law"]["params"] == SCRATCH and data["law"]["allocation"]["a"] > 0
    assert "draws" not in data["law"]
    assert data["budget"]["hours"] == pytest.approx(250)
    keys = "name strategy base params tokens tokens_target replay flops loss interval source_loss"
    keys += " epochs hours cost memory_per_gpu compute_saved compute_saved_interval projection"
    assert set(keys.split()) <= set(data["options"][0])
    assert data["options"][1]["cost"] == pytest.approx(5000)
    recommendation = data["recommendation"]
    assert data["options"][recommendation["option"]]["name"] == recommendation["name"]
    assert recommendation["why"] and recommendation["sure"] and "flat_range" in recommendation
    assert all(set(warning) == {"code", "sentence"} for warning in data["warnings"])
    rows = plan.rows()
    assert len(rows) == 2 and all(set(row) == set(rows[0]) for row in rows)
    assert [row[""] for row in rows].count("→") == 1
    assert plan.sentences()[0].startswith("advice: ")


def test_a_plan_is_short_in_print_and_a_table_in_a_notebook() -> None:
    known = laws(scratch=fitted("chinchilla", SCRATCH), cpt=fitted("cpt", CPT))
    plan = make_plan(known, ask(flops="6e19", gpu="h100", bases=["a=1B@20B"]))
    printed = str(plan)
    assert repr(plan) == printed and len(printed) < 1000
    assert printed.splitlines()[0].split()[:3] == ["option", "parameters", "tokens"]
    assert "→  cpt from a" in printed and "advice: Continue from `a`" in printed
    assert "assumed_price" not in printed and "assumed_price" in plan.summary()
    html = plan._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<td>cpt from a</td>" in html and "advice: Continue" in html
    frame = plan.to_frame()
    assert list(frame["name"]) == [option.name for option in plan.options]
    assert list(frame["recommended"]) == [False, True] and list(frame["base"]) == ["", "a"]
    chart = plan.plot()
    assert "cpt from a" in json.dumps(chart.to_dict())
    with pytest.raises(UserError, match="no figure `replays`"):
        plan.plot("replays")
