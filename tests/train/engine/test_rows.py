"""Documents in rows of their own against a plain loop over documents, in families that mix them."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from tests.golden import inputs
from tests.models.families import GROUPED, WIDTHS
from tongues.models.anatomy import of_folder
from tongues.text.tokens.frame import TextFrame
from tongues.train.engine.balance import balance_weight
from tongues.train.engine.fitting import fit_scorer
from tongues.train.engine.processor import Processor
from tongues.train.engine.rows import cut_rows
from tongues.train.engine.scorer import Scorer

CONTEXT, END, VOCABULARY = 150, 3, 96
EXACT = Processor(torch.device("cpu"), bfloat16=False, threads=1)
ENDS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
SIZES: dict[str, Any] = WIDTHS | GROUPED | ENDS
SIZES |= {"vocab_size": VOCABULARY, "max_position_embeddings": 256}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = inputs("mixing-families")["families"]


def made(family: str) -> PreTrainedModel:
    kind, settings = FAMILIES[family]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **SIZES | settings))


def windows(seed: int = 1) -> Tensor:
    """Documents of all lengths: of one token, one that fills a sample, one cut off at its end."""
    chance = torch.Generator().manual_seed(seed)
    tokens = torch.randint(END + 1, VOCABULARY, (3, CONTEXT + 1), generator=chance)
    for row, starts in enumerate([(0, 1, 2, 34, 67), (), (5, 70, 149)]):
        tokens[row, list(starts)] = END
    return tokens


def fitted(model: PreTrainedModel, **options: Any) -> tuple[Scorer, dict[str, Any], list[str]]:
    told: list[str] = []
    given = {"frame": TextFrame(END, END), "recompute": False, "compiled": False} | options
    given |= {"context": CONTEXT, "apart": True, "tell": told.append}
    return *fit_scorer(model, EXACT, **given), told


def one_by_one(model: PreTrainedModel, batch: Tensor) -> tuple[Tensor, list[Tensor]]:
    """The loss of a loop over documents, summed, and the router's logits of all of them."""
    total, routers = torch.zeros(()), list[list[Tensor]]()
    wanted = {"output_router_logits": True} if balance_weight(model) else {}
    for row in batch:
        starts = sorted({0, *(row[:-1] == END).nonzero().flatten().tolist()})
        for start, stop in zip(starts, [*starts[1:], CONTEXT], strict=True):
            out = model(input_ids=row[None, start:stop], use_cache=False, **wanted)
            expected = row[start + 1 : stop + 1]
            total = total + cross_entropy(out.logits[0], expected, reduction="sum")
            scores = out.router_logits if wanted else ()
            routers.append([layer.reshape(stop - start, -1) for layer in scores])
    return total, [torch.cat(layer) for layer in zip(*routers, strict=True)]


def balance(routers: list[Tensor], top: int) -> Tensor:
    """Switch Transformer's loss, eq. 4 to 6: of all layers together."""
    scores = torch.cat(routers).softmax(-1)
    chosen = torch.zeros_like(scores).scatter(1, scores.topk(top).indices, 1.0)
    return scores.shape[1] * (chosen.mean(0) * scores.mean(0)).sum()


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_give_the_loss_and_gradients_of_a_loop_over_documents(
    tmp_path: Path, family: str
) -> None:
    model = made(family)
    model.save_pretrained(tmp_path)
    assert not of_folder(tmp_path).packs  # as is known before training
    own = copy.deepcopy(model).train()
    own.set_attn_implementation("eager")
    scorer, _, told = fitted(model)
    assert scorer.rows
    assert scorer.chunked != family.startswith("granite")
    assert sum("in a row of its own" in line for line in told) == 1
    batch = windows()
    expected, routers = one_by_one(own, batch)
    learned = expected
    if weight := balance_weight(own):
        learned = learned + weight * 3 * CONTEXT * balance(routers, own.config.num_experts_per_tok)
    learned.backward()
    objective, nats = scorer(batch)
    objective.backward()
    assert nats.item() == pytest.approx(expected.item(), rel=2e-6)
    assert objective.item() == pytest.approx(learned.item(), rel=2e-6)
    norm, right = (
        torch.nn.utils.get_total_norm([w.grad for w in x.parameters() if w.grad is not None])
        for x in (model, own)
    )
    assert norm.item() == pytest.approx(right.item(), rel=5e-6)
    for (name, weight), other in zip(model.named_parameters(), own.parameters(), strict=True):
        found, expected = (torch.zeros(()) if w.grad is None else w.grad for w in (weight, other))
        assert (found - expected).norm() < 1e-5 * right, name


def test_rows_are_as_wide_as_their_documents_and_a_little_more() -> None:
    tokens = windows()[:, :-1]
    rows = cut_rows(tokens, END)
    assert [part.shape for part in rows.parts] == [(4, 16), (1, 32), (1, 64), (3, 128), (1, 150)]
    assert torch.equal(rows.join(rows.parts), tokens)
    flat = torch.cat([part.flatten() for part in rows.parts])
    assert len(flat) < 2 * tokens.numel()
    assert (flat != END).sum() == (tokens != END).sum()  # filled up with what begins documents


def test_rows_are_not_compiled() -> None:
    _, choices, told = fitted(made("lfm2"), compiled=True)
    assert not choices["compiled"]
    assert any("not compiled: rows" in line for line in told)


def test_held_out_text_is_read_in_rows_too() -> None:
    model = made("lfm2")
    scorer, *_ = fitted(model)
    expected, _ = one_by_one(model, windows())
    scorer.eval()
    with torch.no_grad():
        assert scorer(windows())[1].item() == pytest.approx(expected.item(), rel=2e-6)
    assert scorer.nats(windows()).sum().item() == pytest.approx(expected.item(), rel=2e-6)
