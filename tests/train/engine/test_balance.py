"""Mixture-of-experts models are trained on the loss that transformers gives them."""

from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from tests.models.published import DEEPSEEK, ENDS, EXPERTS, WIDTHS
from tongues.text.tokens.frame import TextFrame
from tongues.train.engine import fitting
from tongues.train.engine.balance import balance_note, balance_weight
from tongues.train.engine.fitting import blocked_attention
from tongues.train.engine.processor import Processor
from tongues.train.engine.scorer import Scorer

TOKENS, ROWS = 24, 300
MIXTRAL = WIDTHS | {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None}
MODELS = {
    "qwen3_moe": WIDTHS | EXPERTS | {"num_experts": 4},
    "mixtral": MIXTRAL,
    "olmoe": WIDTHS | {"num_experts": 4, "num_experts_per_tok": 2},
}
WEIGHT = 0.5  # so large that it shows


def model_of(family: str, **settings: object) -> PreTrainedModel:
    plain = {"vocab_size": ROWS, "attention_dropout": 0.0, "router_aux_loss_coef": WEIGHT}
    known = DEEPSEEK | WIDTHS if family == "deepseek_v3" else MODELS.get(family, WIDTHS)
    config = AutoConfig.for_model(family, **(dict(known) | ENDS | plain | settings))
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return AutoModelForCausalLM.from_config(config)


def scorer_of(model: PreTrainedModel, *, chunked: bool) -> Scorer:
    return Scorer(model, Processor(torch.device("cpu"), False, 1), TextFrame(0, 0), chunked=chunked)


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("family", MODELS)
def test_the_training_curve_is_that_of_transformers_with_router_logits(
    family: str, chunked: bool
) -> None:
    ours = model_of(family)
    theirs = deepcopy(ours).train()
    scorer = scorer_of(ours, chunked=chunked).train()
    generator = torch.Generator().manual_seed(2)
    optimizers = [torch.optim.AdamW(model.parameters(), lr=1e-2) for model in (ours, theirs)]
    for _ in range(6):
        windows = torch.randint(ROWS, (2, TOKENS + 1), generator=generator)
        objective, nats = scorer(windows)
        loss = objective / windows[:, 1:].numel()
        out = theirs(
            input_ids=windows[:, :-1],
            labels=windows[:, :-1],
            shift_labels=windows[:, 1:].contiguous(),
            output_router_logits=True,
        )
        torch.testing.assert_close(loss, out.loss, rtol=1e-5, atol=1e-5)
        assert scorer.balance is not None
        torch.testing.assert_close(scorer.balance, out.aux_loss.detach(), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(
            float(loss.detach() - nats / windows[:, 1:].numel()),
            WEIGHT * float(out.aux_loss.detach()),
            rtol=1e-3,
            atol=1e-4,
        )
        for optimizer, value in zip(optimizers, (loss, out.loss), strict=True):
            optimizer.zero_grad()
            value.backward()
            optimizer.step()


def test_held_out_losses_are_without_it() -> None:
    scorer = scorer_of(model_of("qwen3_moe"), chunked=True).eval()
    windows = torch.randint(ROWS, (2, TOKENS + 1))
    objective, nats = scorer(windows)
    assert float(objective.detach()) == pytest.approx(float(nats))
    assert scorer.balance is None


def test_a_line_says_what_keeps_the_experts_in_balance() -> None:
    assert balance_note(model_of("llama")) is None
    assert "weight 0.5" in (balance_note(model_of("qwen3_moe")) or "")
    none = model_of("qwen3_moe", router_aux_loss_coef=0.0)
    assert balance_weight(none) == 0
    assert "without a load-balancing loss" in (balance_note(none) or "")
    note = balance_note(model_of("deepseek_v3"))
    assert note
    assert "balance biases of 1 routers stay as the base has them" in note


MODULE = nn.Module()


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "_ROWS", 5)


def made(heads: int, groups: int, context: int) -> list[torch.Tensor]:
    chance = torch.Generator().manual_seed(context)
    sizes = [(2, heads, context, 6), (2, groups, context, 6), (2, groups, context, 7)]
    return [torch.randn(size, generator=chance, requires_grad=True) for size in sizes]


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("context", [1, 5, 13])
@pytest.mark.parametrize("near", [2, 100])
def test_blocks_give_what_whole_attention_gives(groups: int, context: int, near: int) -> None:
    inputs = made(4, groups, context)
    seen = torch.ones(context, context, dtype=torch.bool).tril().triu(-near)
    seen = seen.expand(2, 1, context, context)
    query, key, value = inputs
    found, _ = blocked_attention(MODULE, query, key, value, seen, scaling=0.3)
    expected = scaled_dot_product_attention(
        query, key, value, attn_mask=seen, scale=0.3, enable_gqa=True
    ).transpose(1, 2)
    torch.testing.assert_close(found, expected)
    weight = torch.randn(found.shape, generator=torch.Generator().manual_seed(2))
    slopes = torch.autograd.grad((found * weight).sum(), inputs)
    right = torch.autograd.grad((expected * weight).sum(), inputs)
    torch.testing.assert_close(slopes, right)


def test_keys_that_no_row_of_a_block_may_see_are_left_out() -> None:
    """Documents begin at other places in each sample; what is left out must be hidden in both."""
    query, key, value = made(4, 2, 18)
    begins = torch.tensor([[0, 7, 12], [0, 6, 16]])
    place = torch.arange(18)
    number = (begins[:, None] <= place[:, None]).sum(2)
    seen = (number[:, :, None] == number[:, None]) & (place[:, None] >= place)
    found, _ = blocked_attention(MODULE, query, key, value, seen[:, None])
    whole = scaled_dot_product_attention(
        query, key, value, attn_mask=seen[:, None], enable_gqa=True
    )
    torch.testing.assert_close(found, whole.transpose(1, 2))
    with torch.no_grad():  # rows 10 and later see nothing before place 6
        key[:, :, :6], value[:, :, :6] = torch.nan, torch.nan
    found, _ = blocked_attention(MODULE, query, key, value, seen[:, None])
    assert found[:, 10:].isfinite().all() and not found[:, :5].isfinite().any()


def test_what_it_does_not_know_is_refused() -> None:
    query, key, value = made(2, 2, 8)
    seen = torch.ones(8, 8, dtype=torch.bool).tril().expand(2, 1, 8, 8)
    for options in ({"softcap": 30.0}, {"dropout": 0.1}):
        with pytest.raises(ValueError, match="knows no"):
            blocked_attention(MODULE, query, key, value, seen, 0.3, **options)
    with pytest.raises(ValueError, match="caches"):
        blocked_attention(MODULE, query[:, :, :1], key, value, seen)
    for mask in (None, seen.float(), seen.expand(2, 2, 8, 8)):
        with pytest.raises(ValueError, match="yes and no"):
            blocked_attention(MODULE, query, key, value, mask)
