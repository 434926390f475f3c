import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.golden import golden
from tongues.errors import Caution, UserError
from tongues.laws import Law, compute_of, frontier, preset
from tongues.plan import Known, Plan, ask, gather_laws, make_plan
from tongues.plan.options import FLAT

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
    low, high = option.interval or (9, 0)  # nobody has the runs: 3 % of the loss either way
    assert 0.03 < 1 - low / option.loss < 0.1 and 0.03 < high / option.loss - 1 < 0.1
    assert option.energy == pytest.approx((option.hours or 0) * 8 * 0.7 * 1.5)
    assert option.carbon == pytest.approx((option.energy or 0) * 0.445)
    assert option.projection is True
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
    reached = frontier(preset(names[0])).loss(C=np.asarray(needed))
    implied = 1.0 - float(compute_of(preset(names[1]), reached)) / needed
    assert cpt.compute_saved == pytest.approx(implied, rel=1e-6)
    assert implied == pytest.approx(0.45, abs=0.01)


def test_bases_fix_the_size_and_tokens_follow() -> None:
    known = laws(scratch=fitted("chinchilla", SCRATCH), cpt=fitted("cpt", CPT))
    bases = ["a=1B@20B", "b=8B@15T"]
    plan = make_plan(known, ask(flops="6e19", bases=bases, gpu="b200", gpus="8", replay="0"))
    _, a, b = plan.options
    assert (a.params, a.tokens) == (pytest.approx(1e9), pytest.approx(1e10))
    assert (b.params, b.tokens) == (pytest.approx(8e9), pytest.approx(1.25e9))
    assert a.projection is False
    assert b.projection is True and b.beyond == {"N": pytest.approx(4)}
    assert {"overtrained_base", "projection", "no_replay"} <= codes(plan)
    assert "base_presumed" not in codes(plan)
    assert json.dumps(plan.to_json())


def test_a_target_loss_is_reached_with_the_fewest_flops() -> None:
    known = laws(scratch=fitted("chinchilla", SCRATCH), cpt=fitted("cpt", CPT))
    plan = make_plan(known, ask(target_loss="2.3", bases=["a=1B@20B", "b=8B@100B"], replay="0"))
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
    assert plan.recommendation.by == "laws"


def test_what_comes_as_near_as_nothing_is_told_so() -> None:
    near = SCRATCH | {"gamma": 0.0, "B": 699.9}
    for law in (fitted("cpt", near, 0.02), Law("cpt", near)):
        known = laws(scratch=fitted("chinchilla", SCRATCH, 0.05), cpt=law)
        for question in (ask(flops="1e20"), ask(target_loss="2.3")):
            recommendation = make_plan(known, question).recommendation
            assert recommendation.share is None
            assert "`cpt` and `scratch` differ by less than 0.5%" in recommendation.sure


def test_a_smaller_model_is_taken_where_the_larger_gains_next_to_nothing() -> None:
    known = laws(cpt=fitted("cpt", CPT))
    free = make_plan(known, ask(flops="1e20")).options[0].params or 0
    bases = [f"small={free / 1.5:.0f}@20B", f"best={free:.0f}@20B", f"tiny={free / 20:.0f}@2B"]
    plan = make_plan(known, ask(flops="1e20", bases=bases, replay="0"))
    losses = [option.loss for option in plan.options]
    assert losses[1] < losses[0] < 1.005 * losses[1] < losses[2]
    taken = plan.recommendation
    assert taken.option is plan.options[0]
    assert "with a larger model" in taken.why
    assert [option.name for option in taken.as_good] == ["cpt from best"]
    assert "than `cpt from tiny`" in taken.sure
    question = ask(target_loss=str(losses[1]), bases=bases, replay="0")
    reached = make_plan(known, question).recommendation
    assert reached.option.name == "cpt from best" and len(reached.as_good) == 1


def test_a_law_that_rests_on_little_does_not_sound_sure() -> None:
    thin = Caution("few_runs", "only 4 runs to resample; intervals are too narrow")
    cpt = replace(fitted("cpt", CPT), warnings=(thin,))
    plan = make_plan(laws(scratch=fitted("chinchilla", SCRATCH), cpt=cpt), ask(flops="1e20"))
    sure = plan.recommendation.sure
    assert sure.startswith("Less than it looks") and "only 4 runs" in sure


def test_tokens_that_vanish_are_beyond_every_range() -> None:
    odd = {"E": 2e-6, "A": 4.6, "B": 2.5e-6, "alpha": 0.02, "beta": 0.01}
    plan = make_plan(laws(scratch=Law("chinchilla", odd, range=RANGE)), ask(flops="1e20"))
    assert (plan.options[0].beyond or {})["D"] > 1e100


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
    low, high = np.percentile(needed, (2.5, 97.5))  # of the parameters alone
    assert scratch.flops_interval[0] < 1.01 * low and high < 1.01 * scratch.flops_interval[1]


def test_beyond_the_usual_tokens_per_parameter_is_a_projection() -> None:
    ranged = replace(fitted("cpt", CPT), range=RANGE | {"D/N": (5.0, 80.0), "C": (1e17, 1e21)})
    plan = make_plan(
        laws(cpt=ranged), ask(flops="2e19", bases=["a=1.8B@36B", "b=400M@8B"], replay="0")
    )
    short, usual = plan.options
    assert short.beyond == {"D/N": pytest.approx(5 / (2e19 / 6 / 1.8e9**2))}
    assert usual.beyond == {}
    said = [caution.sentence for caution in plan.warnings if caution.code == "projection"]
    assert len(said) == 1 and "tokens per parameter" in said[0]
    plan = make_plan(laws(cpt=ranged), ask(flops="1e22", bases=["a=1.8B@36B"], replay="0"))
    assert "C" in (plan.options[0].beyond or {})


def test_available_text_says_nothing_to_laws_of_compute() -> None:
    question = ask(flops="1e20", available_tokens="1B")
    assert "available_unused" in codes(make_plan(printed("zheng2024-scratch-compute"), question))


def test_json_and_text_have_all_that_is_promised() -> None:
    known = laws(scratch=fitted("chinchilla", SCRATCH), cpt=fitted("cpt", CPT))
    plan = make_plan(known, ask(cost="500", gpu="h100", gpus="8", available_tokens="400B"))
    data = json.loads(json.dumps(plan.to_json(), allow_nan=False))
    parts = "law laws budget options recommendation left_out warnings prior"
    assert set(parts.split()) == set(data)
    assert data["law"]["params"] == SCRATCH and data["law"]["allocation"]["a"] > 0
    assert "draws" not in data["law"]
    assert data["budget"]["hours"] == pytest.approx(25)
    keys = "name strategy base params tokens tokens_target replay flops loss interval source_loss"
    keys += " epochs hours cost memory_per_gpu compute_saved compute_saved_interval projection"
    assert set(keys.split()) <= set(data["options"][0])
    assert data["options"][1]["cost"] == pytest.approx(500)
    recommendation = data["recommendation"]
    assert data["options"][recommendation["option"]]["name"] == recommendation["name"]
    assert recommendation["why"] and recommendation["sure"] and "flat_range" in recommendation
    assert all(set(warning) == {"code", "sentence"} for warning in data["warnings"])
    rows = plan.rows()
    assert len(rows) == 2 and all(set(row) == set(rows[0]) for row in rows)
    assert [row[""] for row in rows].count("→") == 1


def test_a_plan_is_short_in_print_and_a_table_in_a_notebook() -> None:
    known = laws(scratch=fitted("chinchilla", SCRATCH), cpt=fitted("cpt", CPT))
    plan = make_plan(known, ask(flops="6e19", gpu="h100", bases=["a=1B@20B"], replay="0"))
    assert repr(plan) == str(plan)
    golden("plan/printed", str(plan))
    golden("plan/its summary", plan.summary())
    html = plan._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<td>cpt from a</td>" in html and "advice: Continue" in html
    frame = plan.to_frame()
    assert list(frame["name"]) == [option.name for option in plan.options]
    assert list(frame["recommended"]) == [False, True] and list(frame["base"]) == ["", "a"]
    chart = plan.plot()
    assert "cpt from a" in json.dumps(chart.to_dict())
    with pytest.raises(UserError, match="no figure `replays`"):
        plan.plot("replays")
