import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, PreTrainedModel, Qwen3_5TextConfig

from tests.conftest import MakeRecipe
from tests.models.families import save_tiny
from tests.train.making import losses, plan_of
from tongues.core.files import read_lines
from tongues.models import find_shape
from tongues.models.huggingface import build_model
from tongues.plan.check import check_recipe
from tongues.text.tokens import open_tokens
from tongues.train import run_of_recipe
from tongues.train.engine.fitting import BLOCKED, DOCUMENTS
from tongues.train.engine.scorer import positions
from tongues.train.run import train
from tongues.train.work import open_work

END = 3
CONTEXT = 24
STARTS = (0, 7, 8, 19)  # of the sample's documents: one cut off, one with no token, one, the rest


def sample(seed: int) -> torch.Tensor:
    """Two rows of tokens, the end token at each start but the first."""
    chance = torch.Generator().manual_seed(seed)
    tokens = torch.randint(END + 1, 200, (2, CONTEXT), generator=chance)
    tokens[:, STARTS[1:]] = END
    return tokens


def logits(model: PreTrainedModel, tokens: torch.Tensor, apart: bool) -> torch.Tensor:
    places = positions(tokens, END) if apart else None
    return model(input_ids=tokens, position_ids=places, use_cache=False).logits


def test_positions_begin_anew_at_the_token_that_ends_a_document() -> None:
    tokens = torch.tensor([[5, 6, END, 7, 8, END, END, 9], [END, 5, 5, 5, 5, 5, 5, 5]])
    expected = [[0, 1, 0, 1, 2, 0, 0, 1], [0, 1, 2, 3, 4, 5, 6, 7]]
    assert positions(tokens, END).tolist() == expected


@pytest.mark.parametrize("bfloat16", [False, True])
@pytest.mark.parametrize("attention", ["sdpa", "eager", BLOCKED, DOCUMENTS])
def test_a_change_in_one_document_moves_no_logit_of_another(attention: str, bfloat16: bool) -> None:
    model = build_model(find_shape("0.2M"), 200, CONTEXT, seed=1)
    model.set_attn_implementation(attention)
    tokens, other = sample(1), sample(2)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
        before, joined = logits(model, tokens, apart=True), logits(model, tokens, apart=False)
        for start, stop in zip(STARTS, (*STARTS[1:], CONTEXT), strict=True):
            changed = tokens.clone()
            changed[:, start:stop] = other[:, start:stop]
            same = (changed == tokens).all()
            unmoved = logits(model, changed, apart=True) == before
            inside = torch.zeros(CONTEXT, dtype=torch.bool)
            inside[start:stop] = True
            assert unmoved[:, ~inside].all()
            assert same or not unmoved[:, inside].all()
        changed = torch.cat([other[:, : STARTS[1]], tokens[:, STARTS[1] :]], dim=1)
        assert not (logits(model, changed, apart=False) == joined)[:, STARTS[1] :].all()


def test_a_run_keeps_documents_apart_in_training_and_on_held_out_text(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    settings = (
        "train.cross_document_attention=false",
        "train.precision=float32",
        "train.eval_languages=[qab]",
        "train.budget=8k tokens",
    )
    directory = train(plan_of(make_recipe, *settings), workspace)
    joined_up = ("train.cross_document_attention=true", "train.num_evals=1")
    joined = train(plan_of(make_recipe, *settings, *joined_up, name="joined"), workspace)
    assert read_lines(joined / "metrics.jsonl") != read_lines(directory / "metrics.jsonl")
    last = read_lines(directory / "evals.jsonl")[-1]
    assert last["loss"] == pytest.approx(one_by_one(directory, workspace), rel=1e-5)
    assert last["loss"] < math.log(400)


def test_a_hybrid_keeps_documents_apart_in_rows_as_check_says_beforehand(
    make_recipe: MakeRecipe, workspace: Path, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"vocab_size": 400, "hidden_size": 32, "intermediate_size": 48}
    settings |= {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
    settings |= {"linear_num_key_heads": 2, "linear_num_value_heads": 4}
    settings |= {"linear_key_head_dim": 8, "linear_value_head_dim": 8}
    settings |= {"num_hidden_layers": 2, "max_position_embeddings": 64}
    layers = ["linear_attention", "full_attention"]
    config = Qwen3_5TextConfig(**settings, layer_types=layers)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = AutoModelForCausalLM.from_config(config)
    base = save_tiny(model, tmp_path / "base", workspace / "tokens/small/tokenizer.json")
    recipe, joined = (
        make_recipe(
            f"train.cross_document_attention={sees}",
            f"train.base={{model: {base}, languages: [qac]}}",
            "model.shape=null",
            "train.precision=float32",
            "train.eval_languages=[qab]",
            "train.budget=3k tokens",
        )
        for sees in ("false", "true")
    )
    apart, together = (check_recipe(open_work(each, workspace)) for each in (recipe, joined))
    assert "documents in rows, uncompiled" in apart.sentences()["memory"]
    assert "row" not in together.sentences()["memory"]
    assert apart.memory > together.memory
    lines: list[str] = []
    directory = train(run_of_recipe(open_work(recipe)), workspace, tell=lines.append)
    assert any("in a row of its own" in line for line in lines)
    first, *_, last = losses(directory)
    assert last == pytest.approx(one_by_one(directory, workspace), rel=1e-5)
    assert last < first


def one_by_one(directory: Path, workspace: Path) -> float:
    """Nats per token of held-out text by a loop over documents, each alone."""
    tokens = open_tokens(workspace / "tokens" / "small")
    model = AutoModelForCausalLM.from_pretrained(directory / "model")
    text = torch.tensor(tokens.valid("qab").astype("int64"))
    total, count = 0.0, (len(text) - 1) // 64
    for window in range(count):
        ids = text[window * 64 : window * 64 + 65]
        ends = (ids[:-1] == tokens.frame.end).nonzero().flatten().tolist()
        starts = sorted({0, *ends})
        for start, stop in zip(starts, (*starts[1:], 64), strict=True):
            with torch.no_grad():
                alone = model(input_ids=ids[None, start:stop]).logits[0]
            wanted = ids[start + 1 : stop + 1]
            total += cross_entropy(alone, wanted, reduction="sum").item()
    return total / (64 * count)
