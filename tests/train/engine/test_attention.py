import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from tongues.train.engine import attention
from tongues.train.engine.attention import blocked_attention

MODULE = nn.Module()


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "_ROWS", 5)


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
