from pathlib import Path

import pytest

from tests.conftest import MakeRecipe
from tongues.check import check_recipe
from tongues.errors import UserError
from tongues.train import RunPlan, run_of_recipe

CONTINUED = "train.init_from=parent"


def plan_of(make_recipe: MakeRecipe, *overrides: str) -> RunPlan:
    return run_of_recipe(make_recipe(*overrides))


def test_replay_is_of_all_tokens_and_the_mixture_shares_out_the_rest(
    make_recipe: MakeRecipe,
) -> None:
    mixture, replay = "train.mixture={sw: 75%, yo: 25%}", "train.replay={en: 15%, fr: 5%}"
    plan = plan_of(make_recipe, CONTINUED, mixture, replay)
    assert plan.shares == pytest.approx({"sw": 0.6, "yo": 0.2, "en": 0.15, "fr": 0.05})
    assert (plan.strategy, plan.target, plan.source, plan.replay) == ("cpt", "sw", "en", 0.2)
    assert plan.identity()["replay"] == {"en": "15%", "fr": "5%"}


def test_without_the_word_the_lesser_languages_of_a_continued_run_are_its_replay(
    make_recipe: MakeRecipe,
) -> None:
    plan = plan_of(make_recipe, CONTINUED, "train.mixture={qab: 70%, qaa: 30%}")
    assert plan.shares == {"qab": 0.7, "qaa": 0.3}
    assert (plan.source, plan.replay) == ("qaa", 0.3)
    scratch = plan_of(make_recipe, "train.mixture={qab: 70%, qaa: 30%}")
    assert (scratch.strategy, scratch.source, scratch.replay) == ("scratch", None, 0.0)


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        (("train.replay={qab: 20%}",), "nothing to replay"),
        ((CONTINUED, "train.replay={qab: 60%, qac: 40%}"), "100% of replay leave nothing"),
        ((CONTINUED, "train.replay={qaa: 20%}"), "`qaa` is in the mixture and replayed"),
    ],
)
def test_replay_that_makes_no_sense_is_refused(
    make_recipe: MakeRecipe, overrides: tuple[str, ...], says: str
) -> None:
    with pytest.raises(UserError, match=says) as caught:
        plan_of(make_recipe, *overrides)
    assert caught.value.where == "train.replay"


def test_replay_of_a_language_without_text_is_found_before_work(
    make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="`fr` has no text") as caught:
        check_recipe(make_recipe(CONTINUED, "train.replay={fr: 5%}"), tmp_path)
    assert caught.value.where == "train.replay"


def test_new_embeddings_matter_to_a_continued_run_alone(make_recipe: MakeRecipe) -> None:
    plain = "model.new_embeddings=plain"
    assert plan_of(make_recipe, plain).identity() == plan_of(make_recipe).identity()
    continued = plan_of(make_recipe, CONTINUED).identity()
    assert plan_of(make_recipe, CONTINUED, plain).identity() != continued
