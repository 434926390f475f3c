"""A real base learns two languages, all of it or by low-rank updates, in the memory predicted."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from benchmarks.real_base import ROOT, resume, training

PROJECTION = "model.layers.3.self_attn.q_proj.weight"


@pytest.mark.slow
@pytest.mark.parametrize("part", ["full", "lora"])
def test_the_losses_fall_in_the_memory_predicted(part: str, place: Path) -> None:
    measured = training(place, part)
    for language in ("Greek", "Hindi"):
        pair = measured[f"{language}, nats per token"]
        assert pair.value < pair.other - 0.3
    english = measured["English, nats per token"]
    assert english.value < english.other + 0.3
    memory = measured["peak memory, MB"]
    assert memory.other == pytest.approx(memory.value, rel=0.15)
    weights = load_file(place / f"runs/{part}/model/model.safetensors")
    base = load_file(ROOT / "build/smollm2/model.safetensors")
    change = weights[PROJECTION] - base[PROJECTION].float()
    rank = torch.linalg.matrix_rank(change, rtol=1e-4)
    assert rank == 16 if part == "lora" else rank > 100
    assert (place / f"runs/{part}/adapter").is_dir() == (part == "lora")


@pytest.mark.slow
def test_a_run_killed_twice_ends_with_the_bytes_of_one_that_was_not(place: Path) -> None:
    measured = resume(place)
    assert measured.pop("the last resume, from step").value > 0
    for quantity, pair in measured.items():
        assert pair.value == 1, quantity
