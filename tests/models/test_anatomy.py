from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM

from tests.models.families import FAMILIES, WIDTHS, tiny
from tongues.core.hardware import Machine
from tongues.models import of_folder, of_shape
from tongues.models.huggingface import build_model, load_model, save_model
from tongues.models.shapes import SHAPES, find_shape
from tongues.recipe import Train
from tongues.train.rules import run_bytes

CONTEXT = 48


@pytest.mark.parametrize("name", FAMILIES)
def test_counts_are_those_of_the_loaded_model(name: str, tmp_path: Path) -> None:
    model = tiny(name, 300)
    model.save_pretrained(tmp_path)
    for pieces in (200, 300, 333):  # as many rows as there are, or as are needed
        anatomy = of_folder(tmp_path, pieces)
        if pieces > 300:
            pieces = 384  # a multiple of 64
            model.resize_token_embeddings(pieces, mean_resizing=False)
        assert anatomy.parameters["total"] == model.num_parameters()
        assert anatomy.vocabulary == max(pieces, 300)
        ends = 1 if anatomy.tied_embeddings else 2
        assert anatomy.parameters["embedding"] == ends * anatomy.vocabulary * 32
    assert anatomy.tied_embeddings == model.config.tie_word_embeddings
    assert anatomy.positions == 64


@pytest.mark.parametrize("name", FAMILIES)
def test_operations_are_those_that_pytorch_counts(name: str, tmp_path: Path) -> None:
    tiny(name, 300).save_pretrained(tmp_path)
    anatomy, model = of_folder(tmp_path), load_model(tmp_path)
    model.set_attn_implementation("eager")
    with FlopCounterMode(display=False) as counter:
        model(input_ids=torch.arange(CONTEXT)[None]).logits.sum().backward()
    met = [
        min(place + 1, reach or CONTEXT) for reach in anatomy.windows for place in range(CONTEXT)
    ]
    unneeded = len(anatomy.windows) * CONTEXT - sum(met) / CONTEXT  # the counter sees all keys
    unneeded *= 6 * 2 * anatomy.heads * anatomy.head_width
    expected = counter.get_total_flops() / CONTEXT - unneeded
    assert anatomy.flops_per_token(CONTEXT) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", ["0.1M", "1.4M"])
def test_a_shape_is_what_its_folder_is(name: str, tied: bool, tmp_path: Path) -> None:
    shape = find_shape(name)
    save_model(build_model(shape, 500, 64, tied_embeddings=tied, seed=1), tmp_path)
    said, found = of_shape(shape, 500, tied), of_folder(tmp_path)
    assert found.parameters == said.parameters
    assert found.flops_per_token(64) == said.flops_per_token(64)
    assert (found.products, found.windows) == (said.products, said.windows)


def test_experts_count_as_far_as_a_token_meets_them(tmp_path: Path) -> None:
    widths = {"moe_intermediate_size": 16, "num_experts": 8, "num_experts_per_tok": 2}
    family = FAMILIES["qwen3"][1] | widths | {"vocab_size": 300, "tie_word_embeddings": False}
    config = AutoConfig.for_model("qwen3_moe", **family)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    attention, router, met = 2 * (32 * 32 + 32 * 16), 8 * 32, 2 * 3 * 32 * 16
    assert of_folder(tmp_path).products == 2 * (attention + router + met) + 300 * 32


def test_the_short_rule_is_near_the_exact_count_of_large_models() -> None:
    for anatomy in (of_shape(shape, 36_152) for shape in SHAPES.values()):
        if anatomy.parameters["total"] > 1e9:
            short = 6 * anatomy.parameters["total"]
            assert anatomy.flops_per_token(2048) == pytest.approx(short, rel=0.2)


@pytest.mark.parametrize(
    ("family", "key", "value"),
    [
        ("gemma2", "final_logit_softcapping", 30.0),
        ("cohere", "logit_scale", 0.0625),
        ("granite", "logits_scaling", 8.0),
    ],
)
def test_logits_that_are_capped_or_scaled_are_counted_whole(
    tmp_path: Path, family: str, key: str, value: float
) -> None:
    anatomies = []
    for setting in (value, 1.0 if key.startswith("log") else None):
        ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None, key: setting}
        config = AutoConfig.for_model(family, vocab_size=300, **WIDTHS, **ends)
        AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / str(setting))
        anatomies.append(of_folder(tmp_path / str(setting)))
    changed, plain = anatomies
    assert (changed.whole_logits, plain.whole_logits) == (True, False)
    settings = Train.model_validate(
        {"budget": "1M tokens", "context": "64 tokens", "precision": "float32"}
    )
    machine = Machine("here", "cpu", 1e12)
    more, less = (run_bytes(each, settings, 64_000, 1e12, machine) for each in (changed, plain))
    assert more - less == pytest.approx(1.03 * 24 * 64_000 * changed.vocabulary)
