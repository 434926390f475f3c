"""Every family by the ways chosen for it, beside transformers' own loss and gradients."""

import copy
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy, linear
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from tests.models.families import GROUPED, TINY, WIDTHS
from tongues.core.errors import UserError
from tongues.text.tokens.frame import TextFrame
from tongues.train.engine import vocabulary
from tongues.train.engine.fitting import BLOCKED, blocked_attention, fit_scorer
from tongues.train.engine.processor import Processor
from tongues.train.engine.scorer import Scorer
from tongues.train.engine.vocabulary import chunked_loss, full_loss

CONTEXT, END = 24, 3
EXACT = Processor(torch.device("cpu"), bfloat16=False, threads=1)
SIZES: dict[str, Any] = WIDTHS | {"vocab_size": 96, "pad_token_id": 0}
FAMILIES: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "plain": ("llama", {}, "blocked", "chunked"),
    "grouped": ("llama", GROUPED | {"tie_word_embeddings": True}, "blocked", "chunked"),
    "biases": ("qwen2", GROUPED, "blocked", "chunked"),
    "norms of q and k": ("qwen3", GROUPED, "blocked", "chunked"),
    "soft caps": ("gemma2", GROUPED | {"sliding_window": 8}, "eager", "full"),
    "sliding windows": ("gemma3_text", GROUPED | {"sliding_window": 8}, "blocked", "chunked"),
    "parallel blocks": ("gpt_neox", {}, "blocked", "chunked"),
    "scaled logits": ("granite", GROUPED | {"logits_scaling": 4.0}, "blocked", "full"),
    "a bias over the vocabulary": ("phi", {}, "blocked", "chunked"),
}


def made(kind: str, settings: dict[str, Any]) -> PreTrainedModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **SIZES | settings))
        for weight in model.parameters():  # none at its zero, so that nothing is missed
            torch.nn.init.normal_(weight, std=0.3)
    return model.eval()


def windows(seed: int = 1) -> torch.Tensor:
    chance = torch.Generator().manual_seed(seed)
    return torch.randint(1, 96, (3, CONTEXT + 1), generator=chance)


def fitted(model: PreTrainedModel, **options: Any) -> tuple[Scorer, dict[str, Any], list[str]]:
    told: list[str] = []
    given = {"frame": TextFrame(END, END), "recompute": False, "compiled": False} | options
    scorer, choices = fit_scorer(model, EXACT, context=CONTEXT, tell=told.append, **given)
    return scorer, choices, told


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_gets_its_own_loss_and_gradients(family: str, recompute: bool) -> None:
    kind, settings, attention, loss = FAMILIES[family]
    model = made(kind, settings)
    own = copy.deepcopy(model)
    own.set_attn_implementation("eager")
    scorer, choices, told = fitted(model, recompute=recompute)
    assert (choices["attention"], choices["loss"]) == (attention, loss)
    assert len(told) == (loss == "full") + {"blocked": 0, "sdpa": 1, "eager": 2}[attention]
    batch = windows()
    logits = own(input_ids=batch[:, :-1]).logits.flatten(0, 1)
    expected = cross_entropy(logits, batch[:, 1:].flatten(), reduction="sum")
    expected.backward()
    objective, nats = scorer(batch)
    assert nats.item() == pytest.approx(expected.item(), rel=1e-6)
    objective.backward()
    for (name, weight), right in zip(model.named_parameters(), own.parameters(), strict=True):
        assert weight.grad is not None, name
        assert right.grad is not None, name
        far = (weight.grad - right.grad).norm() / right.grad.norm()
        assert far < 3e-6 or right.grad.norm() < 1e-3, name


@pytest.mark.parametrize("family", ["plain", "soft caps", "sliding windows", "parallel blocks"])
def test_documents_stay_apart_in_every_family(family: str) -> None:
    kind, settings, *_ = FAMILIES[family]
    scorer, *_ = fitted(made(kind, settings), apart=True)
    batch = windows()
    batch[:, 10] = END
    changed = batch.clone()
    changed[:, 2:8] = windows(2)[:, 2:8]
    with torch.no_grad():
        alone = scorer(batch[:, 10:])[1] + scorer(batch[:, :11])[1]
        together, other = scorer(batch)[1], scorer(changed)[1]
        change = scorer(changed[:, :11])[1] - scorer(batch[:, :11])[1]
    assert together.item() == pytest.approx(alone.item(), rel=1e-6)
    assert (other - together).item() == pytest.approx(change.item(), rel=1e-5)


def test_fitting_leaves_no_trace_in_weights_gradients_or_chance() -> None:
    model = made("llama", {})
    before, chance = copy.deepcopy(model.state_dict()), torch.random.get_rng_state()
    fitted(model)
    assert all(torch.equal(before[name], weight) for name, weight in model.state_dict().items())
    assert all(weight.grad is None for weight in model.parameters())
    assert torch.equal(chance, torch.random.get_rng_state())


def test_a_model_in_which_rows_change_one_another_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = made("xglm", TINY["xglm"])
    monkeypatch.setattr(Scorer, "logits", lambda scorer, tokens: 1.0 * tokens.cumsum(1)[..., None])
    with pytest.raises(UserError, match="kept apart in a model of the kind `xglm`"):
        fitted(model, apart=True)


def test_soft_caps_are_seen_though_the_first_logits_are_small() -> None:
    kind, settings, *_ = FAMILIES["soft caps"]
    config = AutoConfig.for_model(kind, **SIZES | settings | {"attn_logit_softcapping": None})
    before = AutoModelForCausalLM.from_config(config)
    weights = {name: weight.clone() for name, weight in before.state_dict().items()}
    _, choices, told = fitted(before)
    assert choices["loss"] == "full"
    assert any("in chunks, the loss is not" in line for line in told)
    assert all(torch.equal(weight, weights[n]) for n, weight in before.state_dict().items())


def test_a_way_that_errs_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*given: Any, scaling: float, **named: Any) -> object:
        return blocked_attention(*given, scaling=1.25 * scaling, **named)

    monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS, BLOCKED, wrong)
    _, choices, told = fitted(made("llama", {}))
    fault = "loss or gradients are not this model's own"
    assert (choices["attention"], told) == (
        "sdpa",
        [f"attention is not computed by `blocked`: {fault}"],
    )


def test_experts_that_round_otherwise_keep_documents_apart() -> None:
    model = made("olmoe", {"num_experts": 64, "num_experts_per_tok": 8})
    assert fitted(model, apart=True)[1]["attention"] == "blocked"


@pytest.mark.parametrize("noise", [0.01, 0.0])
def test_a_model_that_draws_random_numbers_is_told(noise: float) -> None:
    noisy = {"num_local_experts": 4, "input_jitter_noise": noise, "router_jitter_noise": 0.0}
    *_, told = fitted(made("phimoe", GROUPED | noisy))
    assert any("(random_model)" in line for line in told) == (noise > 0)


def numbers(rows: int, width: int, size: int, seed: int) -> tuple[torch.Tensor, ...]:
    chance = torch.Generator().manual_seed(seed)
    hidden = torch.randn(rows, width, generator=chance, requires_grad=True)
    weight = torch.randn(size, width, generator=chance, requires_grad=True)
    bias = torch.randn(size, generator=chance, requires_grad=True)
    return hidden, weight, bias, torch.randint(size, (rows,), generator=chance)


@pytest.mark.parametrize("biased", [False, True])
@settings(max_examples=15, deadline=None)
@given(
    rows=st.integers(1, 50), width=st.integers(1, 9), size=st.integers(2, 40), seed=st.integers(0)
)
def test_chunks_give_the_loss_and_gradients_of_whole_logits(
    biased: bool, rows: int, width: int, size: int, seed: int
) -> None:
    hidden, weight, bias, wanted = numbers(rows, width, size, seed % 2**31)
    offset = bias if biased else None
    exact = linear(hidden.double(), weight.double(), bias.double() if biased else None)
    expected = cross_entropy(exact, wanted, reduction="sum")
    inputs = [hidden, weight, bias][: 2 + biased]
    slopes = torch.autograd.grad(expected / rows, inputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "LOGITS", {"cpu": 7 * size})  # chunks of seven rows
        found, nats = chunked_loss(hidden, weight, offset, wanted)
        torch.testing.assert_close(nats, expected.detach(), rtol=2e-6, atol=1e-6)
        torch.testing.assert_close(found.double(), expected, rtol=2e-6, atol=1e-6)
        for one, slope in zip(torch.autograd.grad(found / rows, inputs), slopes, strict=True):
            torch.testing.assert_close(one, slope, rtol=1e-5, atol=3e-6)
    whole, nats = full_loss(exact, wanted)
    torch.testing.assert_close(whole.double(), expected, rtol=2e-6, atol=1e-6)
    torch.testing.assert_close(nats, expected.detach(), rtol=2e-6, atol=1e-6)


def test_nothing_is_kept_where_no_gradient_is_asked_for() -> None:
    hidden, weight, _, wanted = numbers(20, 8, 30, 1)
    with torch.no_grad():
        objective, nats = chunked_loss(hidden, weight, None, wanted)
    assert not objective.requires_grad
    assert nats.dtype == torch.float64
    expected = cross_entropy(linear(hidden, weight), wanted, reduction="sum")
    assert nats.item() == pytest.approx(expected.item(), rel=1e-6)


def test_very_unlikely_tokens_have_a_finite_loss_and_gradient() -> None:
    hidden = torch.tensor([[1.0], [-1.0]], requires_grad=True)
    weight = torch.tensor([[300.0], [-300.0], [0.0]], requires_grad=True)
    objective, nats = chunked_loss(hidden, weight, None, torch.tensor([1, 0]))
    objective.backward()
    assert nats.item() == 1200
    assert hidden.grad is not None
    assert hidden.grad.flatten().tolist() == [600, -600]
    assert weight.grad is not None
    assert weight.grad.flatten().tolist() == [2, -2, 0]


def test_in_bfloat16_the_gradient_is_as_good_as_that_of_whole_logits() -> None:
    hidden, weight, _, wanted = numbers(256, 32, 500, 3)
    exact = torch.autograd.grad(
        cross_entropy(linear(hidden, weight), wanted, reduction="sum"), [hidden, weight]
    )
    with torch.autocast("cpu", torch.bfloat16):
        own = cross_entropy(linear(hidden, weight).float(), wanted, reduction="sum")
        ours, _ = chunked_loss(hidden, weight, None, wanted)
    plain = torch.autograd.grad(own, [hidden, weight])
    for one, other, right in zip(
        torch.autograd.grad(ours, [hidden, weight]), plain, exact, strict=True
    ):
        assert (one - right).norm() < 1.1 * (other - right).norm()
