"""Ready recipes of well-known bases, against the configurations as their makers published them."""

import json
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from transformers import AutoConfig, AutoModelForCausalLM

import tongues
from tongues.cli.main import command
from tongues.errors import UserError
from tongues.plan import ready_bases, ready_recipe
from tongues.plan.bases import known_bases
from tongues.recipe import Recipe, load_recipe
from tongues.roles import Roles
from tongues.train.base import roles_of

CONFIGS = json.loads((Path(__file__).parent / "published_configs.json").read_text())


def read(text: str, folder: Path) -> Recipe:
    file = folder / "recipe.yaml"
    file.write_text(text)
    return load_recipe(file)


@pytest.mark.parametrize("base", CONFIGS)
def test_a_base_has_the_size_of_its_published_configuration(base: str) -> None:
    settings = dict(CONFIGS[base])
    config = AutoConfig.for_model(settings.pop("model_type"), **settings)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    ready = ready_bases()[base]
    assert model.num_parameters() == ready.parameters
    assert model.get_input_embeddings().weight.shape[0] == ready.vocabulary
    assert config.max_position_embeddings == ready.context


def test_every_ready_base_has_a_configuration_and_agrees_with_the_plans_table() -> None:
    assert ready_bases().keys() == CONFIGS.keys()
    for base, ready in ready_bases().items():
        if base in known_bases():
            assert known_bases()[base].params == pytest.approx(ready.parameters, rel=0.01)


@pytest.mark.parametrize("base", CONFIGS)
@pytest.mark.parametrize("language", ["sw", "en"])
def test_a_ready_recipe_is_sound_and_names_what_it_learns_and_replays(
    base: str, language: str, tmp_path: Path
) -> None:
    recipe = read(ready_recipe(base, language), tmp_path)
    ready = ready_bases()[base]
    assert recipe.train.base_model == recipe.tokens.base == base
    roles = roles_of(recipe.train, tmp_path)
    replayed = [lang for lang in ready.languages if lang != language][:1]
    assert roles == Roles((language,), ready.languages, dict.fromkeys(replayed, 0.25))
    assert set(recipe.text.languages) == {language, *replayed}
    left_out = {"context", "batch", "learning_rate", "schedule", "warmup", "micro_batch"}
    assert not recipe.train.model_fields_set & left_out


def test_a_base_is_found_by_the_end_of_its_name_and_others_get_the_nearest() -> None:
    assert ready_recipe("smollm2-135m", "sw") == ready_recipe("HuggingFaceTB/SmolLM2-135M", "sw")
    with pytest.raises(UserError, match="no ready recipe for `SmolLM2-135`") as caught:
        ready_recipe("SmolLM2-135", "sw")
    assert "did you mean `SmolLM2-135M`" in caught.value.hint


def test_a_gated_base_says_where_its_terms_are() -> None:
    assert "huggingface.co/meta-llama/Llama-3.2-1B" in ready_recipe("Llama-3.2-1B", "sw")
    assert "gated" not in ready_recipe("SmolLM2-135M", "sw")


def test_the_verb_lists_bases_and_writes_a_recipe_once(tmp_path: Path) -> None:
    def new(*words: str) -> str:
        done = CliRunner().invoke(command, ["new", *words], catch_exceptions=True)
        return done.output or str(done.exception)

    assert [row["base"] for row in json.loads(new("--json"))["bases"]] == list(CONFIGS)
    assert "134,515,008" in new("SmolLM2-135M", "--language", "sw")
    file = tmp_path / "sw.yaml"
    assert f"→ tongues check {file}" in new("SmolLM2-135M", "--language", "sw", "-o", str(file))
    assert file.read_text() == tongues.new("SmolLM2-135M", "sw")
    with pytest.raises(UserError, match="is there already"):
        tongues.new("SmolLM2-135M", "sw", file)
    assert read(tongues.new("Qwen3-0.6B-Base", "sw", budget="2B tokens"), tmp_path).train.budget
