from collections.abc import Callable

import pytest

from tongues.errors import UserError
from tongues.recipe import Recipe
from tongues.study.pilot.candidates import Candidate, candidates, means_of
from tongues.study.pilot.selection import with_parents
from tongues.train import derive

RecipeOf = Callable[..., Recipe]
TEXT = {"qaa": 20_000_000, "qab": 20_000_000}


def options(recipe: Recipe, text: dict[str, int] | None = None) -> list[Candidate]:
    return candidates(recipe, means_of(recipe, 512, TEXT if text is None else text))


def test_the_budget_is_a_share_of_the_real_run(recipe_of: RecipeOf) -> None:
    assert means_of(recipe_of(), 512).budget == pytest.approx(0.15 * 60e12)
    settled = recipe_of("model.shape=1.4M", "train.budget=2M tokens")
    by_tokens = means_of(settled, 512)
    assert 0.7 < by_tokens.real / (6 * 1.57e6 * 2e6) < 1.2  # 6 N D, about
    per_parameter = recipe_of("model.shape=1.4M", "train.budget=2 tokens per parameter")
    assert means_of(per_parameter, 512).real == pytest.approx(by_tokens.real * 1.57 / 1, rel=0.02)


def test_tokens_alone_are_no_budget_while_the_size_is_open(recipe_of: RecipeOf) -> None:
    with pytest.raises(UserError, match="only with a known size"):
        means_of(recipe_of("train.budget=2M tokens"), 512)


def test_each_fits_and_brings_its_base(recipe_of: RecipeOf) -> None:
    found = options(recipe_of())
    assert len({one.plan.shape for one in found}) >= 3
    assert {one.plan.strategy for one in found} == {"scratch", "cpt"}
    assert len({one.name for one in found}) == len(found)
    for one in with_parents(found):
        assert one.flops <= 0.15 * 60e12 / 6 + 1
    for one in found:
        assert 20 / 8 <= one.points[-1].D / one.points[-1].N <= 20 * 8
        assert (one.parent is not None) == (one.plan.strategy == "cpt")
        if one.parent:
            assert one.parent.name == one.plan.base
            assert [point.role for point in one.points] == ["cpt", "forgetting"]
            assert (
                pytest.approx((1 - one.plan.roles.replay_share) * one.points[1].D)
                == one.points[0].D
            )


def test_tokens_per_parameter_are_like_those_of_a_settled_run(recipe_of: RecipeOf) -> None:
    settled = recipe_of("model.shape=1.4M", "train.budget=10 tokens per parameter")
    for one in options(settled, {"qaa": 10**9, "qab": 10**9}):
        assert 2.5 * 0.99 <= one.points[-1].D / one.points[-1].N <= 40


def test_a_real_run_on_very_many_tokens_has_small_ones_like_it(recipe_of: RecipeOf) -> None:
    settled = recipe_of(
        "model.shape=0.4M", "train.budget=200 tokens per parameter", "pilot.share=60%"
    )
    ratios = [one.points[-1].D / one.points[-1].N for one in options(settled, {})]
    assert 50 * 0.99 <= min(ratios) < 100
    assert 200 < max(ratios) <= 800


@pytest.mark.parametrize("batch", ["by size", "1M tokens"])
def test_small_runs_have_steps_enough(recipe_of: RecipeOf, batch: str) -> None:
    recipe = recipe_of(
        "model.shape=1.4M",
        "train.budget=5 tokens per parameter",
        f"train.batch={batch}",
        "pilot.share=60%",
    )
    for one in options(recipe):
        derived = derive(one.plan, 512)
        assert derived.steps >= 200
        alike = derived.tokens / derived.parameters["total"] / 5
        assert derived.steps == pytest.approx(500 * alike, rel=0.5)


@pytest.mark.parametrize(
    "said",
    [
        "mixture={qab: 1}",
        "replay={qaa: 5%}",
        "max_forgetting={qaa: 1%}",
        "run=x",
        "eval_languages=[qab]",
    ],
)
def test_what_a_pilot_sets_itself_is_refused(recipe_of: RecipeOf, said: str) -> None:
    with pytest.raises(
        UserError, match="sets mixture, replay, max_forgetting, run, eval_languages"
    ):
        means_of(recipe_of(f"train.{said}"), 512)


def test_text_is_not_read_twice(recipe_of: RecipeOf) -> None:
    few = options(recipe_of("pilot.source_budget=400k tokens"), {"qaa": 10**9, "qab": 700_000})
    many = options(recipe_of("pilot.source_budget=400k tokens"))
    for one in few:
        assert one.plan.shares["qab"] * one.points[-1].D <= 700_000
    assert len(few) < len(many)


def test_shapes_and_seeds_are_the_ones_asked_for(recipe_of: RecipeOf) -> None:
    asked = recipe_of("pilot.shapes=[0.05M, 0.1M, 0.2M]", "pilot.seeds=[3, 4]")
    found = options(asked)
    assert {one.plan.settings.seed for one in found} == {3, 4}
    names = {one.plan.shape.name for one in found if one.plan.shape}
    assert names <= {"0.05M", "0.1M", "0.2M"}


def test_too_small_a_share_is_refused(recipe_of: RecipeOf) -> None:
    with pytest.raises(UserError, match="no small runs of three sizes fit"):
        options(recipe_of("pilot.share=1%"))
