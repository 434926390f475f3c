"""How a base fits the GPUs: methods in order, and memory that grows as it must."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoConfig

from tests.test_papers import folder_of, on_meta
from tongues.core.hardware import GPUS, Cluster
from tongues.models import SHAPES, of_folder, of_shape
from tongues.plan import BaseCheckpoint, known_bases, read_base
from tongues.plan.fits import (
    LEAST_MEMORY,
    anatomy_of,
    largest_from_scratch,
    method_bytes,
    method_for,
)
from tongues.recipe import Train
from tongues.train.parts import trained_anatomy
from tongues.train.rules import VOCABULARY, run_bytes


def cluster(gpu: str, count: int = 1) -> Cluster:
    return Cluster(GPUS[gpu], count, 0.4, 1.0)


def test_a_small_gpu_gets_cheaper_methods_before_a_base_is_left_out() -> None:
    methods = {}
    for params in (0.5e9, 1.3e9, 4e9, 8e9, 70e9):
        found = method_for(BaseCheckpoint("b", params), cluster("rtx4090"))
        methods[params] = found.name if found else None
    assert methods[0.5e9] == "all weights"
    assert methods[1.3e9] == "all weights, bfloat16 optimizer states"
    assert "LoRA" in str(methods[4e9])
    assert methods[8e9] == "all weights, offloaded"
    assert methods[70e9] is None


def test_many_gpus_share_the_weights() -> None:
    base = BaseCheckpoint("b", 8e9)
    one, eight = (method_for(base, cluster("h100", n)) for n in (1, 8))
    assert one and eight and not one.all_weights and eight.all_weights
    assert eight.name == "all weights" and (eight.memory or 0) < 80e9


@settings(max_examples=20, deadline=None)
@given(st.floats(1e8, 6e10))
def test_what_is_said_to_fit_fits(params: float) -> None:
    for gpu in ("rtx4090", "h100"):
        found = method_for(BaseCheckpoint("b", params), cluster(gpu))
        assert found is None or 0 < (found.memory or 0) <= 0.9 * GPUS[gpu].memory


def test_a_method_fits_as_check_counts_it(tmp_path: Path) -> None:
    """The recipe of a method, on a folder of the base's shape, is not refused for its memory."""
    shape = {"hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 28}
    shape |= {"num_attention_heads": 24, "num_key_value_heads": 8, "vocab_size": 128256}
    config = {"max_position_embeddings": 131072, "tie_word_embeddings": True} | shape
    (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": "llama"}))
    folder_of(on_meta(AutoConfig.for_model("llama", **config)), tmp_path)
    base = read_base(str(tmp_path))
    found = method_for(base, cluster("rtx4090"), 4096)
    assert found and "LoRA" in found.name and found.settings["recompute"]
    words = {"mixture": {"sw": "100%"}, "budget": "3B tokens", "context": "4096 tokens"}
    words |= {"batch": "4096 tokens", "micro_batch": "4096 tokens"}
    settings = Train.model_validate(words | found.settings)
    anatomy = trained_anatomy(of_folder(tmp_path), settings, tmp_path, None)
    needed = run_bytes(anatomy, settings, 4096, 1e18, cluster("rtx4090").machine)
    assert needed <= 0.9 * 24e9 and needed == pytest.approx(found.memory, rel=0.15)


def test_a_decoder_of_a_size_has_that_many_parameters() -> None:
    for base in known_bases().values():
        assert anatomy_of(base).parameters["total"] == round(base.params)
    exact = of_shape(SHAPES["2112M"], VOCABULARY)
    made = anatomy_of(BaseCheckpoint("b", float(exact.parameters["total"])))
    assert made.layers == exact.layers and made.hidden == exact.hidden
    assert made.products == pytest.approx(exact.products, rel=0.01)


def test_the_largest_model_from_scratch_grows_with_the_gpus() -> None:
    one, eight = largest_from_scratch(cluster("a100")), largest_from_scratch(cluster("a100", 8))
    assert 2e9 < one < 6e9 and 5 * one < eight < 9 * one


def test_the_least_that_a_size_takes_is_less_on_more_gpus_and_grows_with_it() -> None:
    def least(params: float, gpus: int) -> float:
        shaped = anatomy_of(BaseCheckpoint("b", params))
        return method_bytes(shaped, LEAST_MEMORY, cluster("h100", gpus))

    assert 4e9 < least(1e9, 8) < least(1e9, 1) < 30e9 and least(1e9, 1) > 16e9
    assert least(70e9, 64) > least(7e9, 64)
