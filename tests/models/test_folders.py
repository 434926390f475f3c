import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    BertConfig,
    BertLMHeadModel,
    PreTrainedModel,
    T5Config,
)

from tests.models.families import GROUPED, WIDTHS, tiny
from tongues.errors import UserError
from tongues.models import of_folder
from tongues.models.folders import stored_shapes
from tongues.models.huggingface import load_model


def say(folder: Path, **settings: Any) -> None:
    """Change the folder's config.json."""
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny("llama", 300).save_pretrained(tmp_path)
    return tmp_path


def refused(folder: Path, says: str) -> UserError:
    """Both by a look at it and by loading, so before training and before work."""
    with pytest.raises(UserError, match=says):
        of_folder(folder)
    with pytest.raises(UserError, match=says) as caught:
        load_model(folder)
    return caught.value


def test_noise_of_routers_is_left_out(tmp_path: Path) -> None:
    noise = {"router_jitter_noise": 0.01, "input_jitter_noise": 0.01}  # as Phi-3.5-MoE has them
    config = AutoConfig.for_model(
        "phimoe", vocab_size=300, num_local_experts=4, **GROUPED, **WIDTHS, **noise
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    loaded, tokens = load_model(tmp_path).train(), torch.randint(300, (2, 40))
    with torch.no_grad():
        one, other = (loaded(input_ids=tokens).logits for _ in range(2))
    assert torch.equal(one, other)


def test_weights_in_several_files_are_one_model(folder: Path, tmp_path: Path) -> None:
    model = load_model(folder)
    model.save_pretrained(tmp_path / "parts", max_shard_size="20KB")
    parts = sorted((tmp_path / "parts").glob("model-*.safetensors"))
    assert len(parts) > 1
    assert of_folder(tmp_path / "parts").parameters == of_folder(folder).parameters
    assert all(
        torch.equal(a, b)
        for a, b in zip(
            load_model(tmp_path / "parts").parameters(), model.parameters(), strict=True
        )
    )
    parts[0].unlink()
    refused(tmp_path / "parts", f"1 of {len(parts)} files of weights are missing")


def test_code_in_a_folder_is_never_run(folder: Path) -> None:
    (folder / "modeling.py").write_text("raise SystemExit('ran')")
    say(folder, auto_map={"AutoModelForCausalLM": "modeling.Model"})
    assert "delete `auto_map`" in refused(folder, "wants its own code run").hint
    say(folder, model_type="own")
    refused(folder, "wants its own code run")


def test_pickled_weights_are_never_read(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    refused(folder, "holds no weights")
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    assert "save_pretrained" in refused(folder, "pickled .`pytorch_model.bin`").hint


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"model_type": "own"}, "not a causal model of transformers"),
        ({"model_type": None}, "names no `model_type`"),
        ({"architectures": ["LlamaForSequenceClassification"]}, "not a causal model"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantized"),
        ({"vocab_size": 301}, r"`.*\.weight` is 300 x 32 in the files and 301|another shape"),
        ({"num_hidden_layers": 3}, "holds .* weights of the|and 8 more missing"),
        ({"num_attention_heads": "four"}, "cannot be loaded"),
    ],
)
def test_a_configuration_that_cannot_be_trained_is_refused(
    folder: Path, settings: dict[str, Any], says: str
) -> None:
    say(folder, **settings)
    refused(folder, says)


def test_weights_that_are_missing_or_have_no_place_are_refused(folder: Path) -> None:
    file = folder / "model.safetensors"
    weights = load_file(file)
    save_file({name: weights[name] for name in sorted(weights)[1:]}, file, {"format": "pt"})
    refused(folder, "missing|holds")
    save_file(weights | {"model.extra": torch.ones(3)}, file, {"format": "pt"})
    with pytest.raises(UserError, match=r"`model\.extra` without a place"):
        load_model(folder)
    file.write_bytes(file.read_bytes()[:-10])
    refused(folder, "is damaged")


def test_the_damaged_model_of_a_run_is_trained_again(folder: Path, tmp_path: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(UserError) as caught:
        stored_shapes(folder)
    assert caught.value.hint == "copy it again from where it came"
    model = tmp_path / "runs/own/model"
    shutil.copytree(folder, model)
    (model.parent / "recipe.yaml").touch()
    with pytest.raises(UserError) as caught:
        stored_shapes(model)
    command = f"tongues train {model.parent}/recipe.yaml --overwrite --workspace {tmp_path}"
    assert caught.value.hint == f"`{command}` trains it again"


def test_what_is_no_decoder_of_text_is_refused(folder: Path) -> None:
    T5Config().save_pretrained(folder)
    refused(folder, "an encoder with a decoder")


def test_a_model_that_looks_ahead_is_refused(tmp_path: Path) -> None:
    widths: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64}
    widths |= {"num_hidden_layers": 1}
    config = BertConfig(vocab_size=300, num_attention_heads=4, is_decoder=False, **widths)
    model: PreTrainedModel = BertLMHeadModel(config)
    model.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="looks ahead"):
        load_model(tmp_path)


def test_shapes_are_read_from_the_headers(folder: Path) -> None:
    shapes = stored_shapes(folder)
    assert shapes["model.embed_tokens.weight"] == (300, 32)
    assert len(shapes) == len(load_file(folder / "model.safetensors"))
