from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.records import make_run
from tests.study.pilot.conftest import TRUTH, Trainer
from tongues.errors import UserError
from tongues.files import read_json
from tongues.models import of_shape
from tongues.recipe import Recipe, load_recipe
from tongues.report.pilot import write_pilot
from tongues.runs import write_run
from tongues.study import run_all
from tongues.study.pilot import plan_pilot, run_pilot
from tongues.tokens import prepare_tokens
from tongues.train import RunPlan
from tongues.train.rules import nearest_shape

RecipeOf = Callable[..., Recipe]
pytestmark = pytest.mark.usefixtures("quickly")


def test_a_pilot_foretells_its_real_run_and_advises_it(
    recipe_of: RecipeOf, workspace: Path, train: Trainer
) -> None:
    told: list[str] = []
    recipe = recipe_of("pilot.max_forgetting=3%")
    page = write_pilot(run_pilot(recipe, workspace, train, told.append), workspace / "page")
    text = page.read_text()
    for heading in (
        "Advice",
        "Next run",
        "predicted",
        "change the advice",
        "one more run",
        "based on",
    ):
        assert heading in text
    assert len(told) == 2
    assert "round 2" in told[1]
    found = read_json(page.with_name("report.json"))
    assert found["spent"] <= found["budget"]["pilot"] == pytest.approx(0.15 * 60e12)
    for role in ("scratch", "cpt"):
        one = found["predicted"][role]
        low, high = one["interval"]
        assert low < TRUTH[role].loss(one["params"], one["tokens"]) < high
        assert high / low < 1.3
    assert found["held_out"]
    assert all(
        one["after"][role] <= one["before"][role] + 1e-9
        for one in found["one_more_run"]
        for role in one["before"]
    )
    for option in found["plan"]["options"]:  # each by the exact operations of its own size
        shape, count = nearest_shape(option["params"], 512)
        per_token = of_shape(shape, 512).flops_per_token(64) * option["params"] / count
        assert option["tokens"] * per_token == pytest.approx(60e12, rel=0.01)
    real = load_recipe(page.with_name("real.yaml"))
    assert real.pilot is None
    assert real.train.mixture == {"qab": 1.0}
    assert real.model.shape
    if found["strategy"] == "cpt":
        assert real.train.base_model == "PUT-YOUR-BASE-HERE"
        assert real.train.replay.keys() == {"qaa"}


def test_a_settled_size_is_kept(recipe_of: RecipeOf, workspace: Path, train: Trainer) -> None:
    recipe = recipe_of(
        "model.shape=0.4M", "train.budget=10 tokens per parameter", "pilot.share=60%"
    )
    page = write_pilot(run_pilot(recipe, workspace, train, print), workspace / "page")
    real = load_recipe(page.with_name("real.yaml"))
    assert real.model.shape == "0.4M"
    named = recipe.train.model_fields_set | {"mixture", "run", "eval_languages", "base", "replay"}
    assert real.train.model_fields_set <= named  # a base decides about the rest
    predicted = read_json(page.with_name("report.json"))["predicted"]
    assert len({one["params"] for one in predicted.values()}) == 1
    assert predicted["scratch"]["tokens"] == pytest.approx(10 * 504_880, rel=0.01)


def test_a_run_that_diverged_is_left_out_and_another_takes_its_place(
    recipe_of: RecipeOf, workspace: Path, train: Trainer
) -> None:
    recipe, told, asked = recipe_of(), [], []

    def fails(plans: Sequence[RunPlan]) -> None:
        asked.append([plan.name for plan in plans])
        lost = next(plan for plan in plans if plan.strategy == "source")
        standing = [plan for plan in plans if lost.name not in (plan.name, plan.base)]
        train(standing)
        if len(asked) == 1:
            directory = workspace / "runs" / lost.name
            directory.mkdir(parents=True)
            diverged = make_run(run=lost.name, status="diverged", settings=lost.identity())
            write_run(directory, diverged)
            raise UserError("1 of 9 runs failed", code="runs_failed")
        train([lost])
        train(plans)

    pilot = run_pilot(recipe, workspace, fails, told.append)
    (lost,) = pilot.lost
    assert lost in asked[0]
    assert all(lost not in names for names in asked[1:])
    assert all(lost not in (plan.name, plan.base) for plan in pilot.plans)
    assert any("diverged and is left out" in line for line in told)
    page = write_pilot(pilot, workspace / "page").read_text()
    assert f"they diverged, with others in their place: {lost.rpartition('/')[2]}" in page
    again = run_pilot(recipe, workspace, train, print)  # all of it follows from the recipe
    assert [plan.name for plan in again.plans] == [plan.name for plan in pilot.plans]
    assert again.advice
    found = read_json(workspace / "page/report.json")
    assert np.median(again.advice.predicted["cpt"]) == found["predicted"]["cpt"]["loss"]


def test_a_run_that_failed_for_another_reason_stops_the_pilot(
    recipe_of: RecipeOf, workspace: Path
) -> None:
    def fails(plans: Sequence[RunPlan]) -> None:
        raise UserError("1 of 9 runs failed", code="runs_failed")

    with pytest.raises(UserError, match="1 of 9"):
        run_pilot(recipe_of(), workspace, fails, print)


@pytest.mark.slow
def test_a_pilot_of_real_runs(tmp_path: Path) -> None:
    path = tmp_path / "tiny.yaml"
    path.write_text(
        "name: tiny\n"
        "text: {synthetic: {size: 4 MB, languages: "
        "{qaa: {}, qab: {parent: qaa, divergence: 0.2}}}}\n"
        "tokens: {vocab_size: 400, held_out: 4k tokens}\n"
        "model: {shape: 0.4M}\n"
        "train: {budget: 5 tokens per parameter, batch: by size, context: 64 tokens}\n"
        "pilot: {source: qaa, target: qab, share: 60%, source_budget: 2 tokens per parameter}\n"
    )
    recipe = load_recipe(path)
    prepare_tokens(recipe, tmp_path, lambda line: None)
    first = plan_pilot(recipe, tmp_path).plans
    train = partial(run_all, workspace=tmp_path)
    page = write_pilot(run_pilot(recipe, tmp_path, train, print), tmp_path / "page")
    found = read_json(page.with_name("report.json"))
    assert {plan.name for plan in first} <= set(found["runs"])
    for one in found["predicted"].values():
        low, high = one["interval"]
        assert 1.0 < low < one["loss"] < high < 7.0
