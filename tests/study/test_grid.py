import json

import pytest

from tests.conftest import MakeRecipe
from tests.golden import cases, golden
from tongues.errors import UserError
from tongues.study import plan_runs
from tongues.train import RunPlan

STUDY = (
    "model={}",
    "train.mixture={}",
    "train.budget=4k tokens",
    "study={source: qaa, targets: [qab], shapes: [0.1M, 0.2M], replay: [0%, 25%]}",
)
ALSO = (
    "study.also=[{shapes: [0.2M], replay: [5%], budgets: [20 tokens per parameter, 2.5k tokens]}]"
)


def names(*plans: RunPlan) -> list[str]:
    return [plan.name.rpartition("/")[2] for plan in plans]


def test_a_further_grid_differs_in_the_keys_it_gives(make_recipe: MakeRecipe) -> None:
    plain, more = plan_runs(make_recipe(*STUDY)), plan_runs(make_recipe(*STUDY, ALSO))
    assert more[: len(plain)] == plain
    assert names(*more[len(plain) :]) == [
        "qab-scratch-0.2M-20tpp-s1",
        "qab-cpt-replay5-0.2M-20tpp-s1",
        "qab-scratch-0.2M-2500tokens-s1",
        "qab-cpt-replay5-0.2M-2500tokens-s1",
    ]
    assert {plan.base for plan in more[len(plain) :]} == {None, "small/qaa-source-0.2M-s1"}
    assert str(more[-1].settings.budget) == "2500 tokens"


def test_runs_continue_from_bases_of_every_budget(make_recipe: MakeRecipe) -> None:
    budgets = "study.source_budgets=[8k tokens, 100 tokens per parameter]"
    plans = plan_runs(make_recipe(*STUDY, budgets, "study.shapes=[0.1M]"))
    continued = {plan.name: plan.base for plan in plans if plan.base}
    assert continued == {
        f"small/qab-cpt{replay}-0.1M{origin}-s1": f"small/qaa-source-0.1M{base}-s1"
        for replay in ("", "-replay25")
        for origin, base in (("", ""), ("-from100tpp", "-100tpp"))
    }
    assert sum(plan.strategy == "scratch" for plan in plans) == 1


def test_a_study_grows_without_renaming_what_is_there(make_recipe: MakeRecipe) -> None:
    before = {plan.name: plan for plan in plan_runs(make_recipe(*STUDY))}
    grown = make_recipe(
        *STUDY,
        "study.seeds=[2, 1]",
        "study.budgets=[1k tokens, 4k tokens]",
        "study.source_budgets=[4k tokens, 9k tokens]",
        "study.shapes=[0.05M, 0.1M, 0.2M]",
        "study.replay=[50%, 0%, 25%]",
    )
    after = {plan.name: plan for plan in plan_runs(grown)}
    assert before.items() <= after.items()
    assert len(after) == len({json.dumps(plan.identity()) for plan in after.values()})


def test_a_plan_survives_being_written_down(make_recipe: MakeRecipe) -> None:
    for plan in plan_runs(
        make_recipe(*STUDY, ALSO, "train.batch=by size", "train.learning_rate={0.1M: 0.01}")
    ):
        assert RunPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


MIXTURES = ("model={}", "train.mixture={}", "train.budget=4k tokens")


def test_a_study_of_mixtures_begins_with_equal_content(make_recipe: MakeRecipe) -> None:
    study = "study={targets: [qaa, qab], shapes: [0.1M], mixtures: 9}"
    plans = plan_runs(make_recipe(*MIXTURES, study))
    assert names(*plans[:2]) == ["mixture000-0.1M-s1", "mixture001-0.1M-s1"]
    assert plans[0].shares == {"qaa": 0.5, "qab": 0.5}
    assert len({tuple(plan.shares.items()) for plan in plans}) == len(plans) == 9
    assert all(sum(plan.shares.values()) == pytest.approx(1) for plan in plans)
    assert {plan.strategy for plan in plans} == {"scratch"}
    assert all(plan.settings.eval_languages == ["qaa", "qab"] for plan in plans)
    more = "study={targets: [qaa, qab], shapes: [0.1M], mixtures: 9, seeds: [1, 2]}"
    assert [plan.name for plan in plan_runs(make_recipe(*MIXTURES, more))][:9] == [
        plan.name for plan in plans
    ]


@pytest.mark.parametrize("study", cases("refused-study-mixtures"))
def test_wrong_studies_of_mixtures(make_recipe: MakeRecipe, study: str) -> None:
    with pytest.raises(UserError) as caught:
        plan_runs(make_recipe(*MIXTURES, f"study={study}"))
    golden(f"refused-study-mixtures/{study}", str(caught.value))
