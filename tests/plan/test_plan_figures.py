import numpy as np
import pytest

from tongues.laws import Law, preset
from tongues.pages import Figure
from tongues.plan import Known, Plan, ask, gather_laws, make_plan
from tongues.plan.figures import plan_figures

DRAWS = np.random.default_rng(0).normal(1.0, 0.01, 100)
SCRATCH = {"E": 1.55, "A": 420.0, "B": 720.0, "alpha": 0.4, "beta": 0.3}
CPT = SCRATCH | {"B": 860.0, "gamma": 0.02}
RANGE = {"N": (4e7, 4e9), "D": (1e8, 4e11), "loss": (1.8, 4.0)}
FORGETTING = Law(
    "forgetting",
    {"F": 3e8, "A": 0.3, "kappa": 0.2, "W": 0.05, "B": 1e11, "beta": 0.095},
    range={"D": (1e8, 1e12), "r": (0.0, 0.5), "S": (1.9, 2.6), "loss": (1.8, 4.0)},
)


def known(form: str, params: dict[str, float], strategy: str) -> Known:
    draws = {
        name: value * DRAWS if name == "B" else 0 * DRAWS + value for name, value in params.items()
    }
    return Known(f"my {strategy}", Law(form, params, draws=draws, range=RANGE), strategy)


BOTH = [known("chinchilla", SCRATCH, "scratch"), known("cpt", CPT, "cpt")]


def figures_of(plan: Plan) -> dict[str, Figure]:
    return {figure.name: figure for figure in plan_figures(plan)}


def test_options_stand_from_the_lowest_loss_up():
    plan = make_plan(gather_laws(BOTH), ask(flops="1e21", bases=["llama=1B@20B", "big=70B@1T"]))
    shown = figures_of(plan)
    assert list(shown) == ["options"]  # a base settles the size
    rows = shown["options"].rows
    assert [row["loss"] for row in rows] == sorted(option.loss for option in plan.options)
    by_name = {option.name: option for option in plan.options}
    for row in rows:
        option = by_name[row["option"]]
        assert (row["low"], row["high"]) == option.interval
        assert row["projection"] is option.projection
    assert [row["option"] for row in rows if row["taken"]] == [plan.recommendation.option.name]


def test_a_target_loss_is_priced_in_compute():
    plan = make_plan(gather_laws(BOTH), ask(target_loss="2.1"))
    figure = figures_of(plan)["options"]
    assert [row["value"] for row in figure.rows] == sorted(o.flops for o in plan.options)
    assert all(row["low"] < row["value"] < row["high"] for row in figure.rows)
    assert "FLOPs" in str(figure.panels[0].to_dict()["layer"][0]["encoding"]["x"]["title"])


def test_replay_is_drawn_where_a_law_tells_what_it_keeps():
    laws = [*BOTH, Known("forgetting", FORGETTING, "")]
    plan = make_plan(gather_laws(laws), ask(flops="1e21", bases=["llama=1B@20B"]))
    shown = figures_of(plan)["replay"]
    (taken,) = [row for row in shown.rows if row["taken"]]
    known = (one for one in plan.options if one.source_loss is not None)
    option = next(one for one in known if one.way.replay == taken["replay"])
    assert taken["source_loss"] == pytest.approx(option.source_loss)
    assert (taken["replay"], taken["loss"]) == (option.way.replay, pytest.approx(option.loss))
    losses = [(row["loss"], -row["source_loss"]) for row in shown.rows]
    assert losses == sorted(losses) and len(losses) > 5


def test_many_options_keep_the_recommended_in_sight():
    bases = [f"base{i}={size}M@10B" for i, size in enumerate(range(100, 1700, 100))]
    plan = make_plan(gather_laws(BOTH), ask(flops="1e21", bases=bases))
    figure = figures_of(plan)["options"]
    assert len(figure.rows) == len(plan.options) > 12
    assert "The best of" in figure.caption
    drawn = figure.panels[0].to_dict()["datasets"].values()
    headings = next(rows for rows in drawn if len(rows) == 12)
    assert sum(row["taken"] for row in headings) == 1


def test_laws_of_compute_alone_leave_the_size_open():
    laws = [
        Known(name, preset(f"zheng2024-{name}-compute"), name.partition("-")[0])
        for name in ("scratch", "cpt")
    ]
    shown = figures_of(make_plan(gather_laws(laws), ask(flops="1e21")))
    assert list(shown) == ["options"]
    assert all(row["params"] is None for row in shown["options"].rows)
