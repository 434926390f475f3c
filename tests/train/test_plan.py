import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import MakeRecipe
from tests.golden import cases, golden, inputs
from tests.records import make_run
from tongues.core.errors import UserError
from tongues.core.roles import Roles
from tongues.models import SHAPES, find_shape, of_shape
from tongues.plan.check import check_recipe
from tongues.runs.record import Base, write_run
from tongues.train import RunPlan, run_of_recipe
from tongues.train.rules import (
    batch_by_size,
    check_batch,
    context_by_size,
    nearest_shape,
    rate_at_size,
    shared_batch,
    vocabulary_by_size,
)
from tongues.train.work import open_work

CONTINUED = "train.base={model: elsewhere, languages: [en, fr]}"
LEARNS = "train.mixture={qab: 100%}"


def plan_of(make_recipe: MakeRecipe, *overrides: str) -> RunPlan:
    return run_of_recipe(open_work(make_recipe(*overrides)))


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
    assert run_of_recipe(open_work(recipe, tmp_path)).roles.base_languages == ("en", "sw")
    wrong = make_recipe("train.base={model: one, languages: [en]}", LEARNS)
    with pytest.raises(UserError, match="was trained on en and sw, by its record"):
        run_of_recipe(open_work(wrong, tmp_path))


def test_replay_of_a_language_without_text_is_found_before_work(
    make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="`fr` has no text") as caught:
        check_recipe(open_work(make_recipe(CONTINUED, LEARNS, "train.replay={fr: 5%}"), tmp_path))
    assert caught.value.where == "train.replay"


def test_new_embeddings_matter_to_a_continued_run_alone(make_recipe: MakeRecipe) -> None:
    plain = "model.new_embeddings=mean"
    assert plan_of(make_recipe, plain).identity() == plan_of(make_recipe).identity()
    continued = plan_of(make_recipe, CONTINUED).identity()
    assert plan_of(make_recipe, CONTINUED, plain).identity() != continued


def size_of(name: str) -> int:
    return of_shape(SHAPES[name], 0).parameters["non_embedding"]


@pytest.mark.parametrize(
    ("parameters", "tokens"),
    inputs("rows")["test_the_batch_of_published_sizes_is_the_published_one"],
)
def test_the_batch_of_published_sizes_is_the_published_one(parameters: int, tokens: float) -> None:
    assert batch_by_size(parameters, 2048) == pytest.approx(tokens, abs=1024)


@given(st.integers(1, 10**11), st.integers(1, 10**11), st.integers(1, 8192))
def test_a_batch_is_whole_contexts_and_grows_with_the_model(a: int, b: int, context: int) -> None:
    small, large = (batch_by_size(parameters, context) for parameters in sorted((a, b)))
    assert 0 < small <= large
    assert small % context == large % context == 0


def test_rates_on_a_power_law_are_carried_along_it() -> None:
    found = {name: 0.5 * size_of(name) ** -0.3 for name in ("0.1M", "0.4M", "1.4M")}
    assert rate_at_size(found, 10**9) == pytest.approx(0.5 * 10 ** (9 * -0.3))
    assert rate_at_size(dict(list(found.items())[:2]), 10**6) == pytest.approx(0.5 * 10**-1.8)


def test_one_rate_falls_by_the_stated_power_and_is_itself_at_its_size() -> None:
    size = size_of("0.4M")
    assert rate_at_size({"0.4M": 5e-3}, size) == pytest.approx(5e-3)
    assert rate_at_size({"0.4M": 5e-3}, 100 * size) == pytest.approx(5e-3 * 100**-0.4)


def test_a_shape_that_is_none_is_named() -> None:
    with pytest.raises(UserError, match=r"no shape is called `0\.3M`") as caught:
        rate_at_size({"0.3M": 5e-3}, 10**6)
    assert caught.value.where == "train.learning_rate"


def test_where_no_rate_was_searched_for_it_falls_from_the_one_measured() -> None:
    assert rate_at_size(None, size_of("0.2M")) == pytest.approx(5.5e-3)
    assert rate_at_size(None, 10**9) == pytest.approx(1.75e-4, rel=0.01)  # the study: 2e-4
    assert rate_at_size(None, 1000) == 7e-3  # the best rate of the smallest shape that was tried


def test_context_and_vocabulary_are_the_published_ones_from_40_million_parameters_on() -> None:
    assert (context_by_size(40e6, 100_000), vocabulary_by_size(40e6)) == (2048, 36_152)
    assert (context_by_size(6e6, 100_000), vocabulary_by_size(6e6)) == (512, 8192)
    assert (context_by_size(1e5, 100_000), vocabulary_by_size(1e5)) == (128, 512)
    assert context_by_size(40e6, 2000) == 1024  # held-out text must fill one


@given(st.integers(1, 10**7), st.integers(1, 2048), st.integers(1, 64))
def test_a_batch_that_processes_share_is_whole_contexts_of_each(
    batch: int, context: int, processes: int
) -> None:
    shared = shared_batch(batch, context, processes)
    assert shared % (context * processes) == 0
    assert shared <= max(batch, context * processes)
    check_batch(shared, context, processes)


def test_a_batch_that_cannot_be_shared_is_refused_with_the_nearest() -> None:
    with pytest.raises(UserError, match="10 samples cannot be shared by 4") as caught:
        check_batch(1280, 128, 4)
    assert "1024 tokens" in caught.value.hint


def test_the_nearest_shape_is_nearest_by_ratio() -> None:
    shape, count = nearest_shape(1e6, 1024)
    assert count == of_shape(shape, 1024).parameters["total"]
    other = of_shape(find_shape("0.4M"), 1024).parameters["total"]
    assert abs(math.log(count / 1e6)) <= abs(math.log(other / 1e6))
