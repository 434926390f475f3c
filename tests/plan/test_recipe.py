"""Recipes that a plan and `new` write: sound, and with text for the tokens they promise."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import tongues
from tests.golden import golden
from tongues.core.errors import UserError
from tongues.core.roles import Roles
from tongues.languages import find_language
from tongues.plan import known_bases, recipe_of
from tongues.plan.recipe import text_limit
from tongues.recipe import Recipe, load_recipe
from tongues.train.base import roles_of

LLAMA = "meta-llama/Llama-3.2-1B"
READ = 0.8  # of the text that a recipe names is left, where a fifth is dropped


def read(text: str, folder: Path) -> Recipe:
    file = folder / "recipe.yaml"
    file.write_text(text)
    return load_recipe(file)


@pytest.mark.parametrize("base", known_bases())
def test_a_recipe_of_every_base_is_sound(base: str, tmp_path: Path) -> None:
    draft = tongues.new(base, "sw", budget="100M tokens")
    recipe = read(draft.recipe, tmp_path)
    assert recipe.train.base_model == recipe.tokens.base == base
    roles, known = roles_of(recipe.train, tmp_path), known_bases()[base].languages or ("en",)
    replayed = [lang for lang in known if lang != "sw"][:1]
    share = draft.plan.decision.option.replay
    assert roles == Roles(("sw",), known, dict.fromkeys(replayed, share))
    assert set(recipe.text.languages) == {"sw", *replayed}
    left_out = {"context", "batch", "learning_rate", "schedule", "warmup", "micro_batch"}
    assert not recipe.train.model_fields_set & left_out


@pytest.mark.parametrize(
    "budget",
    ["40B tokens", "7 days", "168 hours", "4000 US$", "1e21 FLOPs", "20 tokens per parameter"],
)
def test_the_text_covers_the_tokens_of_every_kind_of_budget(budget: str, tmp_path: Path) -> None:
    draft = tongues.new(LLAMA, "uk", budget=budget, gpu="h100", gpus=8)
    option, recipe = draft.plan.decision.option, read(draft.recipe, tmp_path)
    assert recipe.train.budget.amount == pytest.approx(option.tokens, rel=1e-3)
    limit = recipe.text.hub["uk"].limit
    assert limit is not None
    learned = option.tokens * (1 - option.replay) * option.vocabularies["uk"].after.value
    all_there_is = find_language("uk").text_bytes
    assert READ * limit.number * max(option.epochs or 1.0, 1.0) >= 0.99 * learned or (
        limit.number == pytest.approx(all_there_is, rel=1e-3)
    )


def test_a_method_and_new_tokens_are_in_the_recipe(tmp_path: Path) -> None:
    plan = tongues.plan(
        bases=["Qwen/Qwen3-4B-Base"], language="sw", gpu="rtx4090", budget="72 hours"
    )
    assert "LoRA" in plan.decision.option.method.name
    recipe = read(recipe_of(plan), tmp_path)
    assert recipe.train.trains_part
    georgian = tongues.plan(bases=["meta-llama/Llama-3.1-8B"], language="ka", budget="10B tokens")
    extend = read(recipe_of(georgian), tmp_path).tokens.extend
    assert extend and extend.new_tokens == georgian.decision.option.new_tokens
    assert extend.languages == ["ka"] and extend.preserve == ["en"]


def test_the_plan_of_another_trainers_recipe_has_its_batch_and_rate(tmp_path: Path) -> None:
    theirs = {"base_model": "HuggingFaceTB/SmolLM2-135M", "sequence_len": 1024}
    theirs |= {"micro_batch_size": 4, "gradient_accumulation_steps": 8, "max_steps": 500}
    file = tmp_path / "axolotl.yaml"
    theirs |= {"learning_rate": "2e-5", "warmup_steps": 25, "weight_decay": 0.0, "optimizer": "x"}
    file.write_text(json.dumps(theirs))
    draft = tongues.new(language="sw", other=file, out=tmp_path / "mine.yaml")
    option = draft.plan.decision.option
    assert (option.batch, option.rate, option.tokens) == (32_768, 2e-5, 500 * 32_768)
    assert any("batches of 32.8k tokens, peak rate 2.0e-5" in line for line in draft.lines)
    assert draft.lines[1] == "not taken: optimizer"
    recipe = load_recipe(tmp_path / "mine.yaml")
    assert (recipe.name, recipe.train.warmup, recipe.train.weight_decay) == ("mine", 0.05, 0.0)


def test_a_model_from_scratch_gets_a_shape_and_its_rules(tmp_path: Path) -> None:
    plan = tongues.plan("besiroglu2024", budget="1e20 FLOPs", language="sw")
    recipe = read(recipe_of(plan), tmp_path)
    assert recipe.model.shape and recipe.train.base is None
    assert recipe.train.learning_rate and recipe.train.batch != "by size"
    with pytest.raises(UserError, match="the nearest shape"):
        recipe_of(tongues.plan("besiroglu2024", budget="1e20 FLOPs", params="2T", language="sw"))
    with pytest.raises(UserError, match="no language"):
        recipe_of(tongues.plan("besiroglu2024", budget="1e20 FLOPs"))


def test_several_languages_are_read_alike(tmp_path: Path) -> None:
    plan = tongues.plan(bases=["Qwen/Qwen3-4B-Base"], language=["sw", "zu"], budget="1B tokens")
    recipe = read(recipe_of(plan), tmp_path)
    assert recipe.train.targets == ["sw", "zu"] and set(recipe.text.hub) == {"sw", "zu", "en"}


def test_own_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "sw.txt").write_text("habari ya leo ni njema sana " * 20_000)
    asked: dict[str, Any] = {"bases": [LLAMA], "language": "sw", "budget": "1M tokens"}
    plan = tongues.plan(available_text=tmp_path / "sw.txt", **asked)
    recipe = read(recipe_of(plan), tmp_path)
    assert list(recipe.text.files) == ["sw"] and list(recipe.text.hub) == ["en"]
    asked |= {"language": "yo", "available_text": "1.5GB", "max_forgetting": "1%"}
    recipe = read(recipe_of(tongues.plan(**asked)), tmp_path)  # of which the hub has a fifth
    assert recipe.text.files["yo"].paths == ["text/yo"] and list(recipe.text.hub) == ["en"]
    assert recipe.train.max_forgetting == {"en": 0.01}


def test_what_no_single_run_can_do_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is there already"):
        (tmp_path / "x.yaml").touch()
        tongues.plan(bases=[LLAMA], budget="1B tokens", language="sw", write=tmp_path / "x.yaml")


def test_little_text_is_still_some() -> None:
    assert text_limit(1.0) == "2 MB" and text_limit(1e9, 4.0) == "5000 MB"
    assert text_limit(1e9, 4.0, most=3e9) == "3000 MB"


def test_a_recipe_explains_itself() -> None:
    text = tongues.new("SmolLM2-135M", "sw", budget="20M tokens").recipe
    golden("plan/a recipe", re.sub(r"(?m)^# .*FLOPs.*\n", "", text))
