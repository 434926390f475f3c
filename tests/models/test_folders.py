import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    BertConfig,
    BertLMHeadModel,
    PreTrainedModel,
    T5Config,
)

from tests.golden import inputs
from tests.models.families import FAMILIES, GROUPED, WIDTHS, tiny
from tests.models.published import PUBLISHED, publish
from tongues.core.errors import UserError
from tongues.models import find_shape, of_folder
from tongues.models.folders import stored_shapes
from tongues.models.huggingface import build_model, load_model, open_layout
from tongues.models.sources import DrawnWeights, FolderWeights, WeightSource
from tongues.models.tensor_file import TensorFile
from tongues.models.token_map import TokenMap, resize_vocabulary
from tongues.train.engine.loading import fill_weights
from tongues.train.engine.processes import Processes


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
    ("settings", "says"), inputs("rows")["test_a_configuration_that_cannot_be_trained_is_refused"]
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


ROWS = 300
CPU = torch.device("cpu")


def in_thirds(source: WeightSource, name: str, weight: Tensor) -> Tensor:
    """A weight as three processes would read it, the last of them less than a third."""
    if weight.ndim == 0:
        return source.rows(name)
    size = -(-len(weight) // 3)
    cuts = range(0, len(weight), size)
    return torch.cat([source.rows(name, cut, min(cut + size, len(weight))) for cut in cuts])


def check(source: WeightSource, expected: PreTrainedModel, model: PreTrainedModel) -> None:
    """That all weights are the expected model's, and so are its logits once they are filled in."""
    state = expected.state_dict()
    for name, weight in expected.named_parameters():
        assert torch.equal(in_thirds(source, name, weight), weight), name
    fill_weights(model, model, source, CPU, Processes(), "here")
    assert all(torch.equal(weight, state[name]) for name, weight in model.state_dict().items())
    tokens = torch.arange(24)[None]
    with torch.no_grad():
        assert torch.equal(
            model.eval()(input_ids=tokens).logits, expected.eval()(input_ids=tokens).logits
        )


@pytest.mark.parametrize("name", PUBLISHED)
def test_rows_of_a_published_folder_are_those_of_the_loaded_model(
    name: str, tmp_path: Path
) -> None:
    base = publish(name, ROWS, tmp_path / "base")
    source = FolderWeights(base, open_layout(base), None)
    check(source, load_model(base), source.model)


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_of_any_family_are_those_of_the_model_resized_for_new_tokens(
    name: str, tmp_path: Path
) -> None:
    tiny(name, ROWS).save_pretrained(tmp_path)
    shared = np.where(np.arange(ROWS + 41) < ROWS, np.arange(ROWS + 41), -1)
    parts = {number: [number % 7, 3] for number in range(ROWS, ROWS + 41)}
    tokens = TokenMap(shared, parts, ROWS)
    expected = load_model(tmp_path)
    matrices = resize_vocabulary(expected, tokens)
    source = FolderWeights(tmp_path, open_layout(tmp_path), tokens)
    assert len(matrices) == len(source.base_rows)
    assert all(map(torch.equal, matrices, source.base_rows))
    for key, weight in expected.named_parameters():
        torch.testing.assert_close(in_thirds(source, key, weight), weight, rtol=1e-6, atol=1e-9)
    assert source.model.num_parameters() == expected.num_parameters()


@pytest.mark.parametrize("tied", [False, True])
def test_weights_drawn_by_rows_are_those_of_the_model_that_is_built(tied: bool) -> None:
    def build() -> PreTrainedModel:
        return build_model(find_shape("0.1M"), 97, 32, tied_embeddings=tied, seed=3)

    with DrawnWeights() as drawn:
        model = build()
    assert all(weight.is_meta for weight in model.parameters() if weight.ndim == 2)
    drawn.name(model)
    check(drawn, build(), model)


def test_weights_that_are_no_numbers_or_have_no_place_are_refused(tmp_path: Path) -> None:
    tiny("llama", ROWS).save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    weights = load_file(file)
    name = "model.layers.1.mlp.up_proj.weight"
    save_file(weights | {name: weights[name] / 0}, file, {"format": "pt"})
    source = FolderWeights(tmp_path, open_layout(tmp_path), None)
    with pytest.raises(UserError, match=f"`{name}` holds NaN or infinite values"):
        fill_weights(source.model, source.model, source, CPU, Processes(), "here")
    more = weights | {"model.layers.7.mlp.up_proj.weight": weights[name].clone()}
    save_file(more, file, {"format": "pt"})
    with pytest.raises(UserError, match=r"layers.7.mlp.up_proj.weight` has no place"):
        FolderWeights(tmp_path, open_layout(tmp_path), None)


TENSORS = {
    "b.weight": torch.arange(6.0).reshape(2, 3),
    "a.weight": torch.arange(5.0).bfloat16(),
    "größe": torch.tensor(3),
    "mask": torch.tensor([True, False, True]),
    "a.bias": torch.zeros(0, 4),
}
SHAPES = {name: (tensor.dtype, tensor.shape) for name, tensor in TENSORS.items()}


def test_the_bytes_are_those_of_safetensors_in_whatever_order_they_come(tmp_path: Path) -> None:
    about = {"format": "pt"}
    save_file(TENSORS, tmp_path / "theirs", about)
    with TensorFile(tmp_path / "ours", SHAPES, about) as file:
        for name in sorted(TENSORS, reverse=True):
            file.write(name, TENSORS[name])
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    for name, tensor in load_file(tmp_path / "ours").items():
        assert torch.equal(tensor, TENSORS[name])


def test_a_tensor_that_is_missing_or_of_another_shape_is_an_error(tmp_path: Path) -> None:
    missing, other = tmp_path / "less", tmp_path / "other"
    with (
        pytest.raises(AssertionError, match=r"not written: .*größe"),
        TensorFile(missing, SHAPES, {}) as file,
    ):
        file.write("b.weight", TENSORS["b.weight"])
    with pytest.raises(AssertionError, match="mask"), TensorFile(other, SHAPES, {}) as file:
        file.write("mask", TENSORS["mask"][:2])
