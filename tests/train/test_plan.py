import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import MakeRecipe
from tests.golden import cases, golden
from tests.records import make_run
from tongues.check import check_recipe
from tongues.errors import UserError
from tongues.roles import Roles
from tongues.runs import Base, write_run
from tongues.train import RunPlan, run_of_recipe

CONTINUED = "train.base={model: elsewhere, languages: [en, fr]}"
LEARNS = "train.mixture={qab: 100%}"


def plan_of(make_recipe: MakeRecipe, *overrides: str) -> RunPlan:
    return run_of_recipe(make_recipe(*overrides))


def test_replay_is_of_all_tokens_and_the_mixture_shares_out_the_rest(
    make_recipe: MakeRecipe,
) -> None:
    mixture, replay = "train.mixture={sw: 75%, yo: 25%}", "train.replay={en: 15%, fr: 5%}"
    plan = plan_of(make_recipe, CONTINUED, mixture, replay)
    assert plan.shares == pytest.approx({"sw": 0.6, "yo": 0.2, "en": 0.15, "fr": 0.05})
    assert plan.strategy == "cpt"
    assert plan.roles == Roles(("sw", "yo"), ("en", "fr"), {"en": 0.15, "fr": 0.05})
    assert plan.roles.replay_share == 0.2
    assert plan.identity()["replay"] == {"en": 0.15, "fr": 0.05}


def test_all_of_a_mixture_is_learned_and_none_of_it_is_taken_for_replay(
    make_recipe: MakeRecipe,
) -> None:
    both = "train.mixture={tr: 80%, he: 20%}"
    plan = plan_of(make_recipe, CONTINUED, both)
    assert plan.shares == {"tr": 0.8, "he": 0.2}
    assert plan.roles == Roles(("tr", "he"), ("en", "fr"))
    assert (plan.roles.replay_share, plan.roles.forgettable) == (0.0, ("en", "fr"))
    replayed = plan_of(make_recipe, CONTINUED, both, "train.replay={en: 20%}")
    assert replayed.roles == replace(plan.roles, replay={"en": 0.2})
    differing = {key for key, value in plan.identity().items() if replayed.identity()[key] != value}
    assert differing == {"replay"}
    scratch = plan_of(make_recipe, "train.mixture={qab: 70%, qaa: 30%}")
    assert scratch.strategy == "scratch"
    assert scratch.roles == Roles(("qab", "qaa"))


@pytest.mark.parametrize("overrides", cases("refused-roles"))
def test_what_is_not_declared_is_an_error_and_never_guessed(
    make_recipe: MakeRecipe, overrides: str
) -> None:
    with pytest.raises(UserError) as caught:
        plan_of(make_recipe, *json.loads(overrides))
    golden(f"refused-roles/{overrides}", str(caught.value))


def test_a_language_of_the_base_is_learned_further_where_that_is_said(
    make_recipe: MakeRecipe,
) -> None:
    both = ("train.mixture={tr: 80%, en: 20%}", "train.targets=[tr, en]")
    roles = plan_of(make_recipe, CONTINUED, *both).roles
    assert roles.targets == ("tr", "en")
    assert roles.forgettable == ("fr",)
    assert [roles.role(lang) for lang in ("en", "fr", "he")] == ["target", "base", "other"]


def test_a_folder_that_does_not_say_what_it_knows_must_be_declared(
    make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserError, match="is not declared") as caught:
        plan_of(make_recipe, f"train.base={tmp_path}", LEARNS)
    assert "languages: [en]" in caught.value.hint


def test_a_run_knows_what_it_and_its_base_were_trained_on(
    make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    before = Base("hub", ("en",), "p")
    shares = {"sw": 0.8, "en": 0.2}
    write_run(tmp_path / "runs/one", make_run(base=before, targets=("sw",), shares=shares))
    recipe = make_recipe("train.base=one", LEARNS)
    assert run_of_recipe(recipe, tmp_path).roles.base_languages == ("en", "sw")
    wrong = make_recipe("train.base={model: one, languages: [en]}", LEARNS)
    with pytest.raises(UserError, match="was trained on en and sw, by its record"):
        run_of_recipe(wrong, tmp_path)


def test_replay_of_a_language_without_text_is_found_before_work(
    make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="`fr` has no text") as caught:
        check_recipe(make_recipe(CONTINUED, LEARNS, "train.replay={fr: 5%}"), tmp_path)
    assert caught.value.where == "train.replay"


def test_new_embeddings_matter_to_a_continued_run_alone(make_recipe: MakeRecipe) -> None:
    plain = "model.new_embeddings=random"
    assert plan_of(make_recipe, plain).identity() == plan_of(make_recipe).identity()
    continued = plan_of(make_recipe, CONTINUED).identity()
    assert plan_of(make_recipe, CONTINUED, plain).identity() != continued
