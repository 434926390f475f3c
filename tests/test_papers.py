"""The recipes of the two papers, against counts of transformers and the papers' own figures."""

import json
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    PretrainedConfig,
    PreTrainedModel,
)

from tongues.core.hardware import GPUS, USUAL_MFU, Machine
from tongues.models import TABLE
from tongues.plan.check import Checked, check_recipe
from tongues.recipe import load_recipe
from tongues.train.work import open_work

PAPERS = Path(__file__).parents[1] / "docs/examples/papers"
XGLM = {"d_model": 2048, "ffn_dim": 8192, "num_layers": 24, "attention_heads": 16}
XGLM |= {"max_position_embeddings": 2048}
BATCHES = {"": 2**20, "-2b": 2**21, "-5b": 2**22}  # tokens, by what the recipe's file ends with


def on_meta(config: PretrainedConfig) -> PreTrainedModel:
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config)


def parameters(config: PretrainedConfig) -> int:
    return on_meta(config).num_parameters()


def folder_of(model: torch.nn.Module, folder: Path) -> None:
    """A model's folder whose weights are a hole in the disk: only their shapes can be read."""
    head, end = {}, 0
    for name, weight in model.state_dict().items():
        start, end = end, end + 2 * weight.numel()
        head[name] = {"dtype": "BF16", "shape": list(weight.shape), "data_offsets": [start, end]}
    text = json.dumps(head).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)


def checked(name: str, gpu: str, folder: Path, *overrides: str) -> Checked:
    machine = Machine.of_gpus(GPUS[gpu], 1)
    return check_recipe(
        open_work(load_recipe(PAPERS / f"{name}.yaml", overrides), folder), machine=machine
    )


def test_the_study_of_42_shapes_fits_on_gpus_and_has_the_papers_settings(tmp_path: Path) -> None:
    flops_of_all, seen = 0.0, []
    for (ending, batch), gpu in zip(BATCHES.items(), ("h100", "h100", "b200"), strict=True):
        of = checked(f"zheng2024{ending}", gpu, tmp_path)
        assert of.memory < GPUS[gpu].memory
        for plan, derived in of.runs:
            assert plan.shape
            seen.append((plan.shape.name, plan.strategy, tuple(plan.settings.replay.values())))
            assert derived.batch == batch
            assert derived.tokens == pytest.approx(20 * derived.parameters["total"], rel=0.02)
        flops = sum(derived.flops for _, derived in of.runs)
        flops_of_all += flops
        ours = of.to_json()["gpu_hours"]
        assert ours == pytest.approx(flops / (GPUS[gpu].peak * USUAL_MFU * 3600))
        price = f"${ours * GPUS[gpu].price:,.3g} at ${GPUS[gpu].price:.2f} an hour"
        assert price in of.sentences()["time"]
        assert of.rows()[0]["GPU-hours"]
    assert len(seen) == len(set(seen)) == 3 * 42 + 6
    assert {name for name, *_ in seen} == set(TABLE)
    counts = {
        name: of.layers * (4 * of.hidden**2 + 3 * of.hidden * of.feed_forward)
        + 2 * 36152 * of.hidden
        for name, of in TABLE.items()
    }
    of_rule = (
        sum(6 * 20 * count**2 for count in counts.values()) * 3 + 6 * 120 * counts["1393M"] ** 2
    )
    assert flops_of_all == pytest.approx(of_rule, rel=0.1)


def test_experts_of_xglm_have_the_papers_steps_and_batches(tokens: Path, tmp_path: Path) -> None:
    full = parameters(AutoConfig.for_model("xglm", **XGLM, vocab_size=256_008))
    assert full == pytest.approx(1.73e9, rel=0.01)
    rows = len(json.loads((tokens / "tokenizer.json").read_text())["model"]["vocab"])
    config = AutoConfig.for_model("xglm", **XGLM, vocab_size=rows)  # as many as its tokenizer has
    base = tmp_path / "xglm"
    config.save_pretrained(base)
    folder_of(on_meta(config), base)
    (base / "tokenizer.json").write_bytes((tokens / "tokenizer.json").read_bytes())
    own = f"{{model: {base}, languages: [en]}}"
    of = checked("blevins2024", "h100", tmp_path, f"train.base={own}", f"tokens.base={base}")
    counts = {1: 1, 4: 2, 8: 2, 16: 2}  # experts, and partitions that have as many
    assert len(of.runs) == sum(k * times for k, times in counts.items())
    total = parameters(config)
    assert full - total == (256_008 - rows) * XGLM["d_model"]
    for plan, derived in of.runs:
        assert derived.parameters["total"] == total
        k = 2**19 // derived.batch
        assert derived.steps == 20_000 and k in counts, plan.name
        assert derived.tokens == 20_000 * derived.batch
    assert of.memory < GPUS["h100"].memory


def test_what_is_added_to_them_branches_from_the_donors_experts() -> None:
    added, dense = (load_recipe(PAPERS / f"blevins2024-{end}.yaml") for end in ("added", "lapt"))
    assert added.experts and dense.experts
    assert (
        added.experts.add == {"az": "tr", "he": "ar", "pl": "ru", "sv": "en"} == dense.experts.add
    )
    assert dense.experts.shared_expert and not added.experts.shared_expert
    labels = {
        each.label
        for each in (load_recipe(PAPERS / "blevins2024.yaml").experts or added.experts).partitions
    }
    assert {one.experts.add_to for one in (added, dense) if one.experts} == {
        f"blevins2024/{label}-s1" for label in ("typology-8-2x", "dense-16x")
    }
    assert {"typology-8-2x", "dense-16x"} <= labels
    assert not json.loads(added.model_dump_json())["train"].get("base")
