"""A real base continued with new tokens, exported in bfloat16 and for llama.cpp."""

import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from benchmarks.real_base import bfloat16, gguf
from tongues.export.gguf import LLAMA_CPP
from tongues.files import read_json


@pytest.mark.slow
def test_in_bfloat16_it_is_half_as_large_and_predicts_as_well(place: Path) -> None:
    measured = bfloat16(place)
    size = measured.pop("weights, MB")
    assert size.value == pytest.approx(size.other / 2, rel=1e-3)
    for quantity, pair in measured.items():  # a run of 8 steps moves weights by half a rounding
        assert pair.value == pytest.approx(pair.other, abs=0.03), quantity
    assert read_json(place / "bf16/config.json")["dtype"] == "bfloat16"
    stored = load_file(place / "bf16/model.safetensors")
    for name, weight in load_file(place / "runs/full/model/model.safetensors").items():
        assert torch.equal(stored[name], weight.bfloat16()), name
    card = (place / "bf16/README.md").read_text()
    assert str(place) not in card and "rounded from fp32 to bf16" in card


@pytest.mark.slow
def test_llama_cpp_gives_the_same_ids_and_writes_the_same_greedy_text(place: Path) -> None:
    pytest.importorskip("llama_cpp")
    if not os.environ.get(LLAMA_CPP):
        pytest.skip(f"{LLAMA_CPP} names no source of llama.cpp")
    measured = gguf(place)
    assert len(measured) == 4
    same = measured.pop("greedy tokens that are the same")
    assert same.value == same.other
    for quantity, pair in measured.items():
        assert pair.value == 0 < pair.other, quantity
