from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tongues.models.tensor_file import TensorFile

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
