"""Pilots whose runs end where known laws say, so that no model need be trained."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tongues
from tests.conftest import MakeRecipe
from tests.golden import cases, golden
from tests.records import make_run
from tongues.core.errors import UserError
from tongues.core.files import read_json
from tongues.core.randomness import derive_seed
from tongues.laws import Law
from tongues.runs.record import Base, write_run
from tongues.train import RunPlan, derive, run_of_recipe
from tongues.train.study import StudyCost, plan_study
from tongues.train.study.pilot import forecast_large_run, study_of_pilot
from tongues.train.work import open_work
from tongues.verbs.actions import recipes as studies

PILOT = (
    "model.shape=1.4M",
    "train.mixture={}",
    "train.budget=6 tokens per parameter",
    "pilot={source: qaa, target: qab, share: 30%}",
)
SIZES = {"E": 1.8, "A": 60.0, "alpha": 0.4}
TRUTH = {
    "source": Law("chinchilla", SIZES | {"B": 150.0, "beta": 0.4}),
    "scratch": Law("chinchilla", SIZES | {"B": 150.0, "beta": 0.4}),
    "cpt": Law("cpt", SIZES | {"B": 20.0, "beta": 0.25, "gamma": 0.03}),
}
VOCABULARY = 400
ALONE = "train.mixture={qab: 100%}"


def leave(plans: Sequence[RunPlan], workspace: Path) -> None:
    """Runs that end where the laws say, within half a per cent."""
    for plan in plans:
        derived = derive(plan, VOCABULARY)
        random = np.random.default_rng(derive_seed(1, plan.name))
        N, D = float(derived.parameters["total"]), float(derived.tokens)
        end = float(TRUTH[plan.strategy].loss(N, D) * np.exp(0.005 * random.standard_normal()))
        losses = {plan.roles.targets[0]: (6.2, end)}
        losses |= dict.fromkeys(plan.roles.base_languages, (3.0, 3.5))
        record = make_run(
            run=plan.name,
            strategy=plan.strategy,
            base=Base(plan.base, plan.roles.base_languages, "made") if plan.base else None,
            targets=plan.roles.targets,
            shape=plan.shape.name if plan.shape else "",
            params=derived.parameters,
            tokens=derived.tokens,
            flops=derived.flops,
            shares=dict(plan.shares),
        )
        folder = workspace / "runs" / plan.name
        folder.mkdir(parents=True)
        write_run(folder, record)
        rows = [
            {"step": at * derived.steps, "lang": lang, "loss": loss[at], "bits_per_byte": 1.0}
            | {"tokens": at * derived.tokens, "flops": at * derived.flops}
            | {"tokens_lang": at * derived.tokens, "epochs_lang": 0.1}
            for lang, loss in losses.items()
            for at in (0, 1)
        ]
        (folder / "evals.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_the_small_runs_are_the_largest_grid_within_the_share(make_recipe: MakeRecipe) -> None:
    work = study_of_pilot(open_work(make_recipe(*PILOT)), VOCABULARY)
    assert work.recipe.study and work.recipe.study.shapes == ["0.05M", "0.1M", "0.2M"]
    runs = [(plan, derive(plan, VOCABULARY)) for plan in plan_study(work)]
    kinds = [plan.strategy for plan, _ in runs]
    assert [kinds.count(kind) for kind in ("source", "scratch", "cpt")] == [3, 9, 9]
    ratios = [round(of.tokens / of.parameters["total"], 1) for _, of in runs]
    assert {x for x, kind in zip(ratios, kinds, strict=True) if kind == "source"} == {12.0}
    assert set(ratios) == {3.0, 6.0, 12.0}
    assert min(of.steps for _, of in runs) >= 200
    alone = open_work(make_recipe(*PILOT, "pilot=null", ALONE))
    large = derive(run_of_recipe(alone), VOCABULARY).flops
    assert 0.1 * large < sum(of.flops for _, of in runs) <= 0.3 * large
    larger = open_work(make_recipe(*PILOT, "model.shape=12M"))
    more = study_of_pilot(larger, VOCABULARY).recipe.study
    assert more and more.shapes == ["0.4M", "0.6M", "1.4M"]


def test_a_budget_of_flops_says_the_size_by_itself(make_recipe: MakeRecipe) -> None:
    recipe = make_recipe(*PILOT, "model.shape=null", "train.budget=2e16 FLOPs")
    study = study_of_pilot(open_work(recipe), VOCABULARY).recipe.study
    # 20 tokens per parameter: the 12M
    assert study and study.shapes == ["0.4M", "0.6M", "1.4M"]


@pytest.mark.parametrize("change", cases("refused-pilots"))
def test_what_no_pilot_can_be_made_of(make_recipe: MakeRecipe, change: str) -> None:
    with pytest.raises(UserError) as caught:
        plan_study(study_of_pilot(open_work(make_recipe(*PILOT, change)), VOCABULARY))
    golden(f"refused-pilots/{change}", str(caught.value))


def test_the_large_run_is_forecast_by_the_laws_of_the_small_ones(
    recipe_file: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(studies, "measure_cost", lambda *_, **__: StudyCost(0, 0.0, {}, 0.0))
    monkeypatch.setattr(studies, "run_all", lambda plans, place, **_: leave(plans, place))
    folder = tongues.study(recipe_file, PILOT, workspace)
    made = read_json(folder / "forecast.json")
    large, losses = made["large"], made["losses"]
    assert large["shape"] == "1.4M" and large["tokens"] == 6 * large["params"]
    for strategy, of in losses.items():
        truth = float(TRUTH[strategy].loss(large["params"], large["tokens"]))
        assert of["low"] < truth < of["high"]
        assert of["high"] / of["low"] < 1.5
    assert losses.keys() == {"scratch", "cpt"} and 15 < made["beyond"] < 100
    said = capsys.readouterr().err
    assert "from scratch" in said and "continued" in said and "were tested up to 15 times" in said
    assert "it reads its text" in said  # 300 kB of it
    work = open_work(tongues.load_recipe(recipe_file, PILOT), workspace)
    assert forecast_large_run(work).to_json() == made
