"""What a recipe leaves out follows from its base; what it names stays, and is questioned."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.models.families import save_tiny, tiny
from tests.records import make_run
from tongues.core.errors import UserError
from tongues.core.hardware import GPUS, Machine
from tongues.core.hub import is_hub_id
from tongues.experts.plans import plan_rounds
from tongues.plan.check import check_recipe
from tongues.recipe import Extend, Recipe, TokenSettings, Train, load_recipe
from tongues.runs.record import write_run
from tongues.train import run_of_recipe
from tongues.train.defaults import base_batch, base_context, base_rate, base_warmup
from tongues.train.work import open_work

# As published: parameters, steps, peak learning rate.
PROJECTS = {
    "Swallow 7B": (6.74e9, 23_800, 1e-4),
    "Swallow 13B": (13.0e9, 23_800, 1e-4),
    "Swallow 70B": (69e9, 23_800, 5e-5),
    "Sherkala 8B": (8e9, 11_433, 1.5e-4),
}


@pytest.fixture
def base(tokens: Path, tmp_path: Path) -> Path:
    """A model with positions for 256 tokens."""
    model = tiny("qwen2", 400, max_position_embeddings=256)
    return save_tiny(model, tmp_path / "base", tokens / "tokenizer.json")


def recipe_of(base: Path | str, **train: Any) -> Recipe:
    """A recipe that names as little of its training as it can."""
    settings = {"base": {"model": str(base), "languages": ["qac"]}, "mixture": {"qaa": "100%"}}
    text = {"seed": 1, "size": "300 kB", "languages": {"qaa": {}}}
    return load_recipe(
        {
            "name": "small",
            "text": {"synthetic": text},
            "tokens": {"vocab_size": 400, "held_out": "4000 tokens"},
            "train": {"budget": "1M tokens"} | settings | train,
        }
    )


def completed(base: Path | str, workspace: Path, **train: Any) -> Train:
    """What training is by a recipe that names only this."""
    return open_work(recipe_of(base, **train), workspace).recipe.train


@pytest.mark.parametrize("project", PROJECTS)
def test_the_rate_is_within_two_times_that_of_published_projects(project: str) -> None:
    params, steps, rate = PROJECTS[project]
    assert abs(math.log(base_rate(params, steps) / rate)) < math.log(2)


def test_the_batch_is_that_of_published_projects_within_four_times() -> None:
    for tokens, published in ((100e9, 4.2e6), (80.7e9, 4.19e6), (10.5e9, 1.05e6), (484.9e6, 16384)):
        assert 1 / 4 <= base_batch(tokens, 2048) / published <= 4
    assert base_batch(1e15, 4096) == 2**22  # the largest that was used
    assert base_batch(1000, 2048) == 2048
    for tokens in (3e7, 1e9, 3e10):  # it divides among processes
        samples = base_batch(tokens, 1024) / 1024
        assert samples == 2 ** round(math.log2(samples))


def test_the_rate_falls_a_little_with_the_size_and_rises_in_few_steps() -> None:
    small, usual, large = (base_rate(params, 20_000) for params in (135e6, 7e9, 70e9))
    assert usual == pytest.approx(1e-4)
    assert 1 < small / usual < 1.5 and 0.75 < large / usual < 1
    assert base_rate(135e6, 100) == pytest.approx(0.02 / 100, rel=0.01)
    assert base_rate(7e9, 1) == pytest.approx(3e-4)  # the highest that was published


def test_short_runs_warm_up_too_and_a_context_is_the_bases_or_shorter() -> None:
    steps = (1e5, 250, 100, 50, 8)
    assert [base_warmup(n) for n in steps] == [0.04, 0.04, 0.1, 0.2, 0.2]
    assert base_context(131_072, 10e9) == 4096
    assert base_context(131_072, 100e6) == 2048
    assert base_context(1024, 10e9) == 1024
    assert base_context(None, 10e9) == 2048  # a model without positions


def test_what_is_left_out_follows_and_what_is_named_stays(base: Path, tmp_path: Path) -> None:
    left_out = completed(base, tmp_path)
    assert left_out.context == 256  # the base's own
    assert left_out.batch == base_batch(1e6, 256)
    assert left_out.warmup == 0.04
    named = {"batch": "512 tokens", "learning_rate": 1e-3, "warmup": "10%"}
    train = completed(base, tmp_path, **named)
    assert (train.batch, train.learning_rate, train.warmup) == (512, 1e-3, 0.1)
    defaults = open_work(recipe_of(base, **named), tmp_path).defaults
    assert [one.key for one in defaults] == ["context"]  # the schedule is the usual one


def test_the_context_goes_into_the_recipes_batch_and_held_out_text(
    base: Path, tmp_path: Path
) -> None:
    train = completed(base, tmp_path, batch="1088 tokens")
    assert (train.batch, train.context) == (1088, 64)
    train = completed(base, tmp_path, micro_batch="128 tokens")
    assert (train.context, train.micro_batch) == (128, 128)
    short = load_recipe(recipe_of(base), {"tokens.held_out": "200 tokens"})
    assert open_work(short, tmp_path).recipe.train.context == 128
    full = completed(base, tmp_path).context
    shared = load_recipe(recipe_of(base), {"tokens.held_out": "2%"})  # of text of unknown length
    assert open_work(shared, tmp_path).recipe.train.context == full > 128
    with pytest.raises(UserError, match="not a whole number of contexts"):
        recipe_of(base, batch="1000 tokens", context="128 tokens")


def test_a_large_batch_is_computed_in_parts_and_lora_takes_three_times_the_rate(
    base: Path, tmp_path: Path
) -> None:
    assert completed(base, tmp_path, batch="24576 tokens").micro_batch == 2048
    assert completed(base, tmp_path, batch="2048 tokens").micro_batch is None
    gpu = Machine.of_gpus(GPUS["h200"], 1)  # there training takes what fits
    large = open_work(recipe_of(base, batch="24576 tokens"), tmp_path, gpu)
    assert large.recipe.train.micro_batch is None
    whole, low_rank = (
        completed(base, tmp_path, trainable=parts).learning_rate for parts in ("all", "lora")
    )
    assert isinstance(whole, float)
    assert low_rank == pytest.approx(3 * whole, rel=0.05)


def test_a_base_trained_here_repeats_its_own_settings(base: Path, tmp_path: Path) -> None:
    run = tmp_path / "runs/own"
    run.mkdir(parents=True)
    base.rename(run / "model")
    settings = {"context": "128 tokens", "schedule": "linear", "warmup": "7%"}
    write_run(run, make_run(batch=1024, learning_rate=6e-3, settings=settings))
    recipe = recipe_of("own")
    recipe = load_recipe(recipe, {"train.base": "own", "train.targets": ["qaa"]})
    train = open_work(recipe, tmp_path).recipe.train
    assert (train.context, train.batch, train.learning_rate) == (128, 1024, 6e-3)
    assert (train.schedule.name, train.warmup, train.checkpoint_every) == ("linear", 0.07, None)
    quarter = open_work(load_recipe(recipe, {"train.batch": "256 tokens"}), tmp_path).recipe.train
    assert quarter.learning_rate == pytest.approx(3e-3)


def test_without_a_base_that_is_there_a_recipe_stays_as_it_is(base: Path, tmp_path: Path) -> None:
    recipe = recipe_of("unused")
    scratch = recipe.model_copy(update={"train": recipe.train.model_copy(update={"base": None})})
    assert (scratch.train.batch, scratch.train.context) == (2048, 128)
    nowhere = str(tmp_path / "nowhere")
    assert not is_hub_id(nowhere)
    once = open_work(recipe_of(base), tmp_path).recipe
    for each in (scratch, recipe_of(nowhere), once):
        assert open_work(each, tmp_path).recipe == each
    assert load_recipe(once, "train.seed=2").train.batch == once.train.batch


def test_runs_and_experts_take_the_values_and_check_shows_them(base: Path, tmp_path: Path) -> None:
    recipe = load_recipe(recipe_of(base), {"tokens.base": str(base)})
    checked = check_recipe(open_work(recipe, tmp_path))
    ((plan, derived),) = checked.runs
    assert (
        plan.settings
        == checked.work.recipe.train
        == run_of_recipe(open_work(recipe, tmp_path)).settings
    )
    assert derived.batch == base_batch(1e6, 256)
    shown = {one["key"]: one["value"] for one in checked.to_json()["defaults"]}
    assert shown["context"] == "256 tokens"
    assert json.dumps(checked.to_json())
    partition = {"train.mixture": {}, "experts.partitions": [{"by": "dense"}]}
    ((run,),) = [
        one.runs
        for one in plan_rounds(open_work(load_recipe(recipe, partition), tmp_path), make=False)
    ]
    assert run.settings.context == 256


def test_a_budget_too_short_for_the_new_tokens_is_questioned(base: Path, tmp_path: Path) -> None:
    def codes(tokens: int) -> set[str]:
        extend = Extend(new_tokens=100, languages=["qaa"], preserve=["qac"])
        extended = TokenSettings(base=str(base), extend=extend)
        recipe = recipe_of(base, budget=f"{tokens} tokens").model_copy(update={"tokens": extended})
        return {one.code for one in open_work(recipe, tmp_path).cautions}

    assert "few_for_new_tokens" not in codes(1_000_000)
    assert "few_for_new_tokens" in codes(999_999)


def test_a_rate_far_from_the_rule_is_questioned_with_the_published_range(
    base: Path, tmp_path: Path
) -> None:
    usual = completed(base, tmp_path)
    assert open_work(recipe_of(base), tmp_path).cautions == ()
    assert isinstance(usual.learning_rate, float)
    near = {"learning_rate": 9 * usual.learning_rate}
    assert open_work(recipe_of(base, **near), tmp_path).cautions == ()
    for rate in (1e-7, 11 * usual.learning_rate):
        far = recipe_of(base, learning_rate=rate)
        (caution,) = open_work(far, tmp_path).cautions
        assert caution.code == "unusual_learning_rate" and "1e-05 to 0.0003" in caution.sentence
        recipe = load_recipe(far, {"tokens.base": str(base)})
        assert check_recipe(open_work(recipe, tmp_path)).cautions == (caution,)
