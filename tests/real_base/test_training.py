"""A real base learns two languages, all of it or by low-rank updates, in the memory predicted."""

import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer

from benchmarks.real_base import (
    ROOT,
    START,
    TEXT,
    bfloat16,
    extension,
    frame,
    gguf,
    resume,
    training,
)
from tests.printed import DOCS, answered, commands, without_numbers
from tongues.core.files import read_json
from tongues.models.smollm2 import make_smollm2
from tongues.use.export.gguf import LLAMA_CPP

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


@pytest.mark.slow
def test_two_languages_take_fewer_tokens_and_unseen_english_keeps_its_own(place: Path) -> None:
    measured = extension(place)
    for language in ("Greek", "Hindi"):
        pair = measured[f"{language}, bytes per token"]
        assert pair.value > 1.5 * pair.other
    changed = measured["new tokens in unseen English"]
    assert changed.value <= 1e-3 * changed.other


@pytest.mark.slow
def test_the_loss_of_the_base_is_that_of_transformers(place: Path) -> None:
    for quantity, pair in frame(place).items():
        assert pair.value == pytest.approx(pair.other, abs=1e-5), quantity
    tokenizer = AutoTokenizer.from_pretrained(place / "runs/frame/model")
    assert tokenizer("a")["input_ids"][0] == tokenizer.convert_tokens_to_ids(START)


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


SOURCES = {"sw": ("bible", "freecodecamp", "ms_beginners"), "en": ("bible", "mdn")}


@pytest.mark.slow
@pytest.mark.skipif(not TEXT.is_dir(), reason="the shared texts are not here")
def test_the_commands_of_the_tutorial_print_what_it_says(tmp_path: Path) -> None:
    base = make_smollm2(ROOT / "build/smollm2")
    places = {"models/smollm2": base, "benchmarks": ROOT / "benchmarks", "tasks": TEXT / "../eval"}
    for lang, sources in SOURCES.items():
        for source in sources:
            places[f"text/{lang}/{source}.jsonl.gz"] = TEXT / source / f"{lang}.jsonl.gz"
    for name, place in places.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(place.resolve())
    (tmp_path / "smollm2.yaml").write_text((DOCS / "examples/smollm2.yaml").read_text())
    printed = 0
    for command, expected, varies in commands("../tutorials/base"):
        if "--gguf" in command and "LLAMA_CPP" not in os.environ:
            continue
        lines = answered(command, tmp_path)
        if varies:  # numbers differ between processors
            assert without_numbers(lines[-1:]) == without_numbers(expected[-1:]), command
            continue
        left = iter(lines)
        for line in expected:
            assert line == "…" or line in left, (command, line)
            printed += 1
    assert printed > 20
