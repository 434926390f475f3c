"""Mixture-of-experts models are trained on the loss that transformers gives them."""

from copy import deepcopy

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from tests.models.published import DEEPSEEK, ENDS, EXPERTS, WIDTHS
from tongues.tokens.frame import TextFrame
from tongues.train.engine.balance import balance_note, balance_weight
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
