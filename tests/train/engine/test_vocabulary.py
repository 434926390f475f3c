import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy, linear

from tongues.train.engine import vocabulary
from tongues.train.engine.vocabulary import chunked_loss, full_loss


def made(rows: int, width: int, size: int, seed: int) -> tuple[torch.Tensor, ...]:
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
    hidden, weight, bias, wanted = made(rows, width, size, seed % 2**31)
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
    hidden, weight, _, wanted = made(20, 8, 30, 1)
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
    hidden, weight, _, wanted = made(256, 32, 500, 3)
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
