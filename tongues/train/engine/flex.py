"""Attention by PyTorch's flex_attention: soft caps, sinks, windows and documents in one kernel.

The kernel is compiled, for GPUs. Not run on one yet: tests run its sums in plain PyTorch. Importing
this brings the compiler, which takes seconds, and registers FLEX and NARROW_FLEX. Transformers' own
`flex_attention` makes whole matrices where layers are not to be compiled, as in validation, and
rounds the sums that sinks are weighed with to bfloat16.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch._dynamo import config
from torch.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    create_block_mask,
    flex_attention,
)
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface

from tongues.train.engine.attention import FLEX, NARROW_FLEX

# Kinds of layers, lengths and batches, with and without gradients: PyTorch allows 8 in all, and
# makes whole matrices after that.
_VARIANTS = 64

_attention: Any = torch.compile(flex_attention)
_block_mask: Any = torch.compile(create_block_mask)


def flexible_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: BlockMask | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    position_bias: Tensor | None = None,
    **kwargs: object,
) -> tuple[Tensor, None]:
    """What transformers' attention interface asks for; heads of queries may share keys.

    s_aux: of each head, the logit of a token that is seen by all and holds nothing (a sink).
    """
    if dropout or position_bias is not None or not isinstance(attention_mask, BlockMask):
        raise ValueError("flex_attention knows no dropout or biases here, and wants a mask")
    kind = query.device.type
    # Norms of queries and keys give float32 under autocast.
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else value.dtype

    def capped(score: Tensor, *place: Tensor) -> Tensor:
        return score if softcap is None else softcap * torch.tanh(score / softcap)

    options = {
        "score_mod": capped if softcap is not None else None,
        "block_mask": attention_mask,
        "scale": scaling,
        "enable_gqa": query.shape[1] != key.shape[1],
        "return_aux": AuxRequest(lse=s_aux is not None),
    }
    query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
    if torch.compiler.is_compiling():
        mixed, sums = cast("Any", flex_attention)(query, key, value, **options)
    else:
        with _compiled():
            mixed, sums = _attention(query, key, value, **options)
    if s_aux is not None:
        share = torch.sigmoid(sums.lse - s_aux.float()[None, :, None])
        mixed = (mixed * share[..., None]).to(mixed.dtype)
    return mixed.transpose(1, 2).contiguous(), None


def _narrow(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: BlockMask | None,
    **options: Any,
) -> tuple[Tensor, None]:
    dtype, kept = torch.bfloat16, value.dtype
    query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
    mixed, _ = flexible_attention(module, query, key, value, attention_mask, **options)
    return mixed.to(kept), None


@contextmanager
def _compiled() -> Iterator[None]:
    """Compile, also where all else is computed as written."""
    with torch.compiler.set_stance("default"), config.patch(recompile_limit=_VARIANTS):
        yield


def _mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    mask_function: Any,
    attention_mask: Tensor | None = None,
    use_vmap: bool = False,
    device: torch.device | str = "cpu",
    **kwargs: object,
) -> BlockMask:
    """What transformers' mask interface asks for."""
    if attention_mask is not None or use_vmap or q_length != kv_length:
        raise ValueError("flex_attention knows no padding, caches, or masks of a model's own here")
    with _compiled():
        return _block_mask(mask_function, batch_size, None, q_length, kv_length, device=device)


AttentionInterface.register(FLEX, flexible_attention)
AttentionInterface.register(NARROW_FLEX, _narrow)
for _name in (FLEX, NARROW_FLEX):
    AttentionMaskInterface.register(_name, _mask)
