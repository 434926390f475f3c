from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.study.pilot.conftest import TRUTH, Trainer
from tongues.files import read_json
from tongues.recipe import Recipe, load_recipe
from tongues.study.pilot import plan_pilot, run_pilot
from tongues.study.pilot.page import write_plan
from tongues.study.pilot.rounds import conduct
from tongues.tokens import prepare_tokens

RecipeOf = Callable[..., Recipe]


def test_a_pilot_foretells_its_real_run_and_advises_it(
    recipe_of: RecipeOf, workspace: Path, train: Trainer
) -> None:
    told: list[str] = []
    recipe = recipe_of("pilot.keep=3%")
    page = write_plan(conduct(recipe, workspace, train, told.append), workspace / "page")
    text = page.read_text()
    for heading in ("Advice", "foretold", "change the advice", "one more run", "rests on"):
        assert heading in text
    assert len(told) == 2
    assert "round 2" in told[1]
    found = read_json(page.with_name("plan.json"))
    assert found["spent"] <= found["budget"]["pilot"] == pytest.approx(0.15 * 60e12)
    for role in ("scratch", "cpt"):
        one = found["foretold"][role]
        low, high = one["interval"]
        assert low < TRUTH[role].loss(one["params"], one["tokens"]) < high
        assert high / low < 1.3
    assert found["held_out"]
    assert all(
        one["after"][role] <= one["before"][role] + 1e-9
        for one in found["one_more_run"]
        for role in one["before"]
    )
    again = conduct(recipe, workspace, train, print)  # all of it follows from the recipe
    assert [plan.name for plan in again.plans] == found["runs"]
    assert again.advice
    assert np.median(again.advice.foretold["cpt"]) == found["foretold"]["cpt"]["loss"]
    real = load_recipe(page.with_name("real.yaml"))
    assert real.pilot is None
    assert real.train.mixture == {"qab": 1.0}
    assert real.model.shape
    if found["strategy"] == "cpt":
        assert real.train.init_from == "PUT-YOUR-BASE-HERE"
        assert real.train.replay.keys() == {"qaa"}


def test_a_settled_size_is_kept(recipe_of: RecipeOf, workspace: Path, train: Trainer) -> None:
    recipe = recipe_of(
        "model.shape=0.4M", "train.budget=10 tokens per parameter", "pilot.share=60%"
    )
    page = write_plan(conduct(recipe, workspace, train, print), workspace / "page")
    assert load_recipe(page.with_name("real.yaml")).model.shape == "0.4M"
    foretold = read_json(page.with_name("plan.json"))["foretold"]
    assert len({one["params"] for one in foretold.values()}) == 1
    assert foretold["scratch"]["tokens"] == pytest.approx(10 * 504_880, rel=0.01)


@pytest.mark.slow
def test_a_pilot_of_real_runs(tmp_path: Path) -> None:
    path = tmp_path / "tiny.yaml"
    path.write_text(
        "name: tiny\n"
        "text: {made: {size: 2 MB, languages: {qaa: {}, qab: {mother: qaa, distance: 0.2}}}}\n"
        "tokens: {vocabulary: 400, held_out: 4k tokens}\n"
        "model: {shape: 0.2M}\n"
        "train: {budget: 4 tokens per parameter, batch: 512 tokens, context: 64 tokens}\n"
        "pilot: {source: qaa, target: qab, share: 60%, source_budget: 50k tokens, "
        "shapes: [0.05M, 0.1M, 0.4M]}\n"
    )
    recipe = load_recipe(path)
    prepare_tokens(recipe, tmp_path, lambda line: None)
    first = plan_pilot(recipe, tmp_path).plans
    page = run_pilot(recipe, tmp_path)
    found = read_json(page.with_name("plan.json"))
    assert {plan.name for plan in first} <= set(found["runs"])
    for one in found["foretold"].values():
        low, high = one["interval"]
        assert 1.0 < low < one["loss"] < high < 7.0
