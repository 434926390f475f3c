import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import MakeRecipe
from tests.golden import inputs
from tests.records import make_run
from tongues.core.errors import UserError
from tongues.core.files import append_line
from tongues.runs.record import read_run, write_run
from tongues.train.rules import rate_at_size
from tongues.train.study import best_rates, plan_study, plan_sweep, run_all, unfinished
from tongues.train.work import open_work

SWEEP: list[str] = inputs("overrides")["sweep"]


def finish(workspace: Path, name: str, loss: float) -> None:
    """A finished run as far as a sweep reads it."""
    place = workspace / "runs" / name
    place.mkdir(parents=True)
    write_run(place, make_run(run=name, targets=("qaa",), shares={"qaa": 1.0}))
    append_line(place / "evals.jsonl", {"step": 0, "lang": "qaa", "loss": 9.0})
    append_line(place / "evals.jsonl", {"step": 7, "lang": "qaa", "loss": loss})


def test_the_bottom_of_the_parabola_is_found(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    recipe = make_recipe(*SWEEP)
    for plan in plan_sweep(recipe):
        assert isinstance(plan.settings.learning_rate, float)
        bottom = {"small-sweep/0.05M": 6e-3, "small-sweep/0.1M": 3e-3}[plan.name.split("-rate")[0]]
        finish(tmp_path, plan.name, 3 + 0.1 * math.log(plan.settings.learning_rate / bottom) ** 2)
    rates, doubts = best_rates(plan_sweep(recipe), tmp_path)
    assert rates == {"0.05M": pytest.approx(6e-3), "0.1M": pytest.approx(3e-3)}
    assert not doubts
    assert all(
        plan.settings.learning_rate == rates for plan in plan_study(open_work(recipe, tmp_path))
    )


def test_a_rate_at_the_end_of_what_was_tried_is_doubted(
    make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    recipe = make_recipe(*SWEEP, "study.sweep.shapes=[0.1M]")
    low, middle, _ = plan_sweep(recipe)
    finish(tmp_path, low.name, 3.0)
    finish(tmp_path, middle.name, 3.5)  # the third diverged
    rates, (doubt,) = best_rates(plan_sweep(recipe), tmp_path)
    assert rates == {"0.1M": 0.001}
    assert "lowest that was tried" in doubt
    with pytest.raises(UserError, match="no run of shape"):
        best_rates(plan_sweep(recipe), tmp_path / "nowhere")


def test_every_run_takes_the_rate_that_the_sweep_leads_to(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    short = ("train.budget=2k tokens", "train.num_evals=1")
    recipe = make_recipe(*SWEEP, *short, "study.strategies=[scratch]")
    assert all(
        plan.settings.learning_rate == 3e-3 for plan in plan_study(open_work(recipe, workspace))
    )
    run_all(plan_sweep(recipe), workspace)
    (plan,) = plan_study(open_work(recipe, workspace))
    rates, _ = best_rates(plan_sweep(recipe), workspace)
    assert plan.settings.learning_rate == rates
    run_all([plan], workspace)
    record = read_run(workspace / "runs" / plan.name)
    assert record.learning_rate == rate_at_size(rates, record.params["non_embedding"])


def test_a_run_that_did_not_end_is_no_verdict_on_its_rate(
    make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    recipe = make_recipe(*SWEEP, "study.sweep.shapes=[0.1M]")
    plans = plan_sweep(recipe)
    for plan, loss in zip(plans, (3.1, 3.0, 3.2), strict=True):
        finish(tmp_path, plan.name, loss)
    assert not unfinished(plans, tmp_path)
    record = read_run(tmp_path / "runs" / plans[2].name)
    write_run(tmp_path / "runs" / plans[2].name, replace(record, status="running"))  # killed
    assert unfinished(plans, tmp_path) == [plans[2].name]
    assert (
        plan_study(open_work(recipe, tmp_path))[0].settings.learning_rate == 3e-3
    )  # as the recipe says, so far
    write_run(tmp_path / "runs" / plans[2].name, replace(record, status="diverged"))
    assert plan_study(open_work(recipe, tmp_path))[0].settings.learning_rate == {"0.1M": 0.004}
