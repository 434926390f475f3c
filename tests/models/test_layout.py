"""Folders as they are published: what is read of them, and what a trained model leaves of them."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMultimodalLM,
    PaliGemmaConfig,
    Qwen2_5_VLConfig,
)

from tests.models.families import FAMILIES, tiny
from tests.models.published import PUBLISHED, publish, stored
from tongues.core.errors import UserError
from tongues.models import of_folder
from tongues.models.folders import other_files
from tongues.models.huggingface import configure, load_model, save_model

ROWS = 300


def is_text(name: str) -> bool:
    return not any(part in name for part in ("vision", "multi_modal", "layers.61"))


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_folder_is_written_back_with_only_its_text_changed(
    name: str, tmp_path: Path
) -> None:
    base, left = publish(name, ROWS, tmp_path / "base"), tmp_path / "left"
    model = load_model(base)
    assert of_folder(base).parameters["total"] == model.num_parameters()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 1.0
    left.mkdir()
    save_model(model, left, base)
    before, after = stored(base), stored(left)
    assert before.keys() == after.keys()
    for key, weight in before.items():
        moved = is_text(key) and "e_score" not in key
        expected = weight.float() + 1.0 if moved else weight.float()
        assert torch.equal(after[key].float(), expected), key
        assert is_text(key) or after[key].dtype == weight.dtype
    for file in other_files(base):
        assert (left / file.name).read_bytes() == file.read_bytes(), file
    config = json.loads((base / "config.json").read_text())
    config["dtype"] = "float32"
    del config["torch_dtype"]
    written = json.loads((left / "config.json").read_text())
    for place in (config, written):
        place.get("text_config", {}).pop("dtype", None)
    assert written == config
    again = load_model(left)
    for (key, weight), other in zip(model.named_parameters(), again.parameters(), strict=True):
        assert torch.equal(weight, other), key


@pytest.mark.parametrize("name", ["gemma-3-4b", "Llama-4-Scout", "Mistral-Small-3.1"])
def test_the_text_part_predicts_what_the_whole_does_also_with_new_rows(
    name: str, tmp_path: Path
) -> None:
    base, left = publish(name, ROWS, tmp_path / "base"), tmp_path / "left"
    model, tokens = load_model(base), torch.randint(ROWS, (2, 24))
    whole = AutoModelForMultimodalLM.from_pretrained(base, dtype=torch.float32).eval()
    with torch.no_grad():
        expected = whole(input_ids=tokens).logits
        torch.testing.assert_close(model(input_ids=tokens).logits, expected)
    assert "logits" in whole(input_ids=tokens)
    model.resize_token_embeddings(ROWS + 50, mean_resizing=False)
    left.mkdir()
    save_model(model, left, base)
    config = json.loads((left / "config.json").read_text())
    assert config["text_config"]["vocab_size"] == ROWS + 50
    larger = AutoModelForMultimodalLM.from_pretrained(left, dtype=torch.float32).eval()
    with torch.no_grad():
        logits = larger(input_ids=tokens).logits
    assert logits.shape[-1] == ROWS + 50
    torch.testing.assert_close(logits[..., :ROWS], expected)


@pytest.mark.parametrize("name", FAMILIES)
def test_any_family_is_read_without_dropout_and_written_as_it_was(
    name: str, tmp_path: Path
) -> None:
    base, alone, left = (tmp_path / place for place in ("base", "alone", "left"))
    model = tiny(name, ROWS)
    nn.Module.to(model, torch.bfloat16)
    model.save_pretrained(base)
    config = json.loads((base / "config.json").read_text())
    config |= {key: 0.25 for key, value in config.items() if "drop" in key and value is not None}
    (base / "config.json").write_text(json.dumps(config))
    loaded, tokens = load_model(base).train(), torch.randint(ROWS, (2, 40))
    assert not any(module.p for module in loaded.modules() if isinstance(module, nn.Dropout))
    save_model(loaded, alone)
    left.mkdir()
    save_model(loaded, left, base)
    theirs = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32).eval()
    again = AutoModelForCausalLM.from_pretrained(alone).train()
    with torch.no_grad():
        logits = loaded(input_ids=tokens).logits
        torch.testing.assert_close(logits, theirs(input_ids=tokens).logits)
        assert torch.equal(logits, again(input_ids=tokens).logits)
    assert json.loads((left / "config.json").read_text()) == config | {"dtype": "float32"}
    before, after = stored(base), stored(left)
    assert before.keys() == after.keys()
    assert all(torch.equal(after[key], weight.float()) for key, weight in before.items())


def test_weights_without_the_prefix_of_their_model_keep_their_names(tmp_path: Path) -> None:
    base, left = tmp_path / "base", tmp_path / "left"
    tiny("gpt2", ROWS).save_pretrained(base)
    bare = {key.removeprefix("transformer."): weight for key, weight in stored(base).items()}
    save_file(bare, base / "model.safetensors", {"format": "pt"})  # as GPT-2 is on the hub
    left.mkdir()
    save_model(load_model(base), left, base)
    assert stored(left).keys() == bare.keys()


@pytest.mark.parametrize("name", ["gemma-3-4b", "Qwen3-30B-A3B"])
def test_a_weight_that_is_not_in_the_files_is_named(name: str, tmp_path: Path) -> None:
    base = publish(name, ROWS, tmp_path)
    file = base / "model-00001-of-00002.safetensors"
    weights = load_file(file)
    gone = next(key for key in weights if "mlp" in key)
    save_file({key: weights[key] for key in weights if key != gone}, file, {"format": "pt"})
    with pytest.raises(UserError, match=r"`.*mlp.*` missing"):
        of_folder(base)
    with pytest.raises(UserError, match=r"weights|cannot be loaded"):
        load_model(base)


def test_models_without_a_text_part_to_train_are_refused_with_the_reason(tmp_path: Path) -> None:
    for config, reason in (
        (Qwen2_5_VLConfig(architectures=["Qwen2_5_VLForConditionalGeneration"]), "qwen2_5_vl_text"),
        (PaliGemmaConfig(architectures=["PaliGemmaForSomething"]), "`PaliGemmaForSomething`"),
    ):
        config.save_pretrained(tmp_path)
        for look in (configure, load_model):
            with pytest.raises(UserError, match=reason):
                look(tmp_path)


def test_quantized_weights_are_named_by_their_method(tmp_path: Path) -> None:
    publish("DeepSeek-V3", ROWS, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"quantized \(fp8\)") as caught:
        of_folder(tmp_path)
    assert "bfloat16" in caught.value.hint
