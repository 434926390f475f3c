"""Weights that are read or drawn some rows at a time, against models that have them all."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import PreTrainedModel

from tests.models.families import FAMILIES, tiny
from tests.models.published import PUBLISHED, publish
from tongues.errors import UserError
from tongues.models import find_shape
from tongues.models.huggingface import build_model, load_model, open_layout
from tongues.models.sources import DrawnWeights, FolderWeights, WeightSource
from tongues.models.tensor_file import TensorFile
from tongues.models.token_map import TokenMap, resize_vocabulary
from tongues.train.engine.loading import fill_weights
from tongues.train.engine.processes import Processes

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
    spellings = [b"a"] * (ROWS + 41)
    tokens = TokenMap(shared, parts, spellings[:ROWS], spellings)
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
    with pytest.raises(UserError, match=r"layers.7.mlp.up_proj.weight` without a place"):
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
