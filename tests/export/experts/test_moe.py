"""Experts as one mixture of experts: what must be equal to what."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from torch import Tensor
from transformers import AutoModelForCausalLM

from tests.models.families import save_tiny, tiny
from tongues.core.errors import UserError
from tongues.core.files import read_json
from tongues.text.tokens.frame import TextFrame
from tongues.use.export.moe import fit_gates, merge_to_moe

FAMILIES = ("llama", "llama-tied", "qwen3")
ROWS = 300
FRAME = TextFrame(0, 0)


def expert(folder: Path, family: str, tokenizer: Path, seed: int, *, all_of: bool) -> Path:
    """A random model; all_of: all its weights follow from the seed, not the feed-forward alone."""
    model = tiny(
        family, ROWS, head_dim=24, rope_parameters={"rope_type": "default", "rope_theta": 777.0}
    )
    with torch.no_grad():
        torch.manual_seed(seed)
        for name, weight in model.named_parameters():
            if all_of or ".mlp." in name:
                weight.add_(torch.randn_like(weight) * 0.1)
    return save_tiny(model, folder, tokenizer)


def logits(model: Any, tokens: Tensor) -> Tensor:
    with torch.no_grad():
        return model.eval()(input_ids=tokens).logits


def load(folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def gates(model: Any) -> list[Any]:
    return [layer.mlp.gate.weight for layer in model.model.layers]


TOKENS = torch.randint(ROWS, (2, 40), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("family", FAMILIES)
def test_copies_of_one_expert_are_that_expert_whatever_the_router(
    family: str, tokenizer: Path, tmp_path: Path
) -> None:
    place = expert(tmp_path / "one", family, tokenizer, 1, all_of=True)
    own = logits(load(place), TOKENS)
    for per_token in (1, 2, 3):
        model, apart = merge_to_moe([place] * 3, per_token)
        assert apart == 0
        for gate in gates(model):
            torch.nn.init.normal_(gate)
        assert (logits(model, TOKENS) - own).abs().max() <= 1e-5


@pytest.mark.parametrize("family", FAMILIES)
def test_experts_that_share_their_attention_are_exact(
    family: str, tokenizer: Path, tmp_path: Path
) -> None:
    places = [expert(tmp_path / f"e{n}", family, tokenizer, n, all_of=False) for n in range(3)]
    model, apart = merge_to_moe(places, 2)
    assert apart == 0
    for number, place in enumerate(places):

        def choose(module: Any, given: Any, made: Any, number: int = number) -> Any:
            weights = torch.tensor([1.0, 0.0]).expand_as(made[1])
            return made[0], weights, torch.tensor([number, (number + 1) % 3]).expand_as(made[2])

        hooks = [layer.mlp.gate.register_forward_hook(choose) for layer in model.model.layers]
        assert (logits(model, TOKENS) - logits(load(place), TOKENS)).abs().max() <= 1e-5
        for hook in hooks:
            hook.remove()


@pytest.mark.parametrize("family", FAMILIES)
def test_order_does_not_matter_and_zero_gates_are_the_mean_of_outputs(
    family: str, tokenizer: Path, tmp_path: Path
) -> None:
    places = [expert(tmp_path / f"e{n}", family, tokenizer, n, all_of=True) for n in range(3)]
    model, apart = merge_to_moe(places, 3)
    assert apart > 0.01
    dense = load(places[0])
    means = dict(model.named_parameters())
    own = [load(place) for place in places]
    for name, weight in dense.named_parameters():
        if ".mlp." not in name:
            each = [dict(one.named_parameters())[name] for one in own]
            torch.testing.assert_close(means[name], torch.stack(each).mean(0))
            weight.data = means[name].data
    for number, layer in enumerate(dense.model.layers):
        parts = [one.model.layers[number].mlp for one in own]
        layer.mlp.forward = lambda h, parts=parts: sum(part(h) for part in parts) / 3
    assert (logits(model, TOKENS) - logits(dense, TOKENS)).abs().max() <= 1e-5
    order = [2, 0, 1]
    other, _ = merge_to_moe([places[n] for n in order], 2)
    model, _ = merge_to_moe(places, 2)
    for one, moved in zip(gates(model), gates(other), strict=True):
        torch.nn.init.normal_(one)
        moved.data = one.data[order]
    assert (logits(model, TOKENS) - logits(other, TOKENS)).abs().max() <= 1e-5


NAMES = {
    "llama": "model.layers.1.block_sparse_moe.experts.2.{w1,w2,w3}.weight",
    "qwen3": "model.layers.1.mlp.experts.2.{gate_proj,down_proj,up_proj}.weight",
}
ROUTERS = {"llama": "block_sparse_moe.gate", "qwen3": "mlp.gate"}


@pytest.mark.parametrize("family", NAMES)
def test_the_folder_has_names_that_servers_know_and_the_same_bits(
    family: str, tokenizer: Path, tmp_path: Path
) -> None:
    places = [expert(tmp_path / f"e{n}", family, tokenizer, n, all_of=True) for n in range(3)]
    model, _ = merge_to_moe(places, 2)
    for gate in gates(model):
        torch.nn.init.normal_(gate)
    model.save_pretrained(tmp_path / "moe")
    with safe_open(tmp_path / "moe/model.safetensors", "pt") as file:
        names = set(file.keys())
        stem, _, parts = NAMES[family].partition("{")
        parts, _, end = parts.partition("}")
        each = [f"{stem}{part}{end}" for part in parts.split(",")]
        assert names >= set(each)
        assert f"model.layers.1.{ROUTERS[family]}.weight" in names
        assert not [name for name in names if "gate_up" in name]
        own = dict(load(places[2]).named_parameters())
        for part, name in zip(("gate_proj", "down_proj", "up_proj"), each, strict=True):
            assert torch.equal(file.get_tensor(name), own[f"model.layers.1.mlp.{part}.weight"])
    again = load(tmp_path / "moe")
    for one, other in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)
    config = read_json(tmp_path / "moe/config.json")
    assert config["num_experts_per_tok"] == 2 and config["head_dim"] == 24
    assert config["rope_parameters"]["rope_theta"] == 777.0
    assert config["tie_word_embeddings"] is (family == "qwen3")
    assert config.get("num_local_experts", config.get("num_experts")) == 3
    assert config.get("norm_topk_prob", True) and config["architectures"] == [type(again).__name__]


def test_the_router_finds_the_expert_of_a_text(tokenizer: Path, tmp_path: Path) -> None:
    """Languages of other tokens, whose embeddings lie in three directions of unequal lengths."""
    places = [expert(tmp_path / f"e{n}", "llama", tokenizer, n, all_of=False) for n in range(3)]
    model, _ = merge_to_moe(places, 2)
    embedding: Any = model.get_input_embeddings()
    for number in range(3):
        rows = embedding.weight.data[1 + 90 * number : 91 + 90 * number]
        direction = torch.randn(32, generator=torch.Generator().manual_seed(number))
        rows += 0.02 * (1 + number) * direction
    chance = np.random.default_rng(0)
    texts = [[chance.integers(1 + 90 * n, 91 + 90 * n, 50) for _ in range(30)] for n in range(3)]
    fit_gates(model, [documents[:20] for documents in texts], FRAME)
    seen: list[tuple[Tensor, Tensor]] = []
    for layer in model.model.layers:
        layer.mlp.gate.register_forward_hook(lambda module, given, made: seen.append(made[1:]))
    right, sure = [], []
    for number, documents in enumerate(texts):
        seen.clear()
        logits(model, torch.from_numpy(np.stack(documents[20:])))
        right += [float((numbers[:, 0] == number).float().mean()) for _, numbers in seen]
        sure += [float(weights[:, 0].median()) for weights, _ in seen]
    assert min(right) > 0.7 and sum(right) / len(right) > 0.85
    assert sum(sure) / len(sure) == pytest.approx(0.9, abs=0.05)


def test_what_no_architecture_holds_is_refused(tokenizer: Path, tmp_path: Path) -> None:
    biased = save_tiny(tiny("llama", ROWS, mlp_bias=True), tmp_path / "biased", tokenizer)
    foreign = save_tiny(tiny("gpt2", ROWS), tmp_path / "gpt2", tokenizer)
    for place, why in ((biased, "with `mlp_bias` fit no"), (foreign, "of kind `gpt2` fit no")):
        with pytest.raises(UserError, match=why):
            merge_to_moe([place] * 2, 2)
    place = save_tiny(tiny("llama", ROWS), tmp_path / "llama", tokenizer)
    wide = save_tiny(tiny("llama", ROWS + 64), tmp_path / "wide", tokenizer)
    with pytest.raises(UserError, match="is another one than in"):
        merge_to_moe([place, wide])
