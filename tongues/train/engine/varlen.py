"""Attention within documents, by PyTorch's flash kernel for sequences of varied length.

The kernel runs on GPUs, in bfloat16 (benchmarks/gpu/results/2026-11-27-h100.txt); tests put its
sums in plain PyTorch in its place.
"""

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention.varlen import varlen_attn
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface

VARLEN = "tongues_varlen"  # its name with transformers
_NARROW = torch.bfloat16  # in which the kernel computes
# Older kernels take fewer heads of keys than of queries without being told.
_GROUPED = {"enable_gqa": True} if "enable_gqa" in inspect.signature(varlen_attn).parameters else {}


@dataclass(frozen=True, slots=True)
class Documents:
    """Where documents begin in samples that are laid end to end: what takes the place of a mask.

    No tuple: compiled code would be compiled again for each number of documents.
    """

    starts: Tensor  # int32, ascending, ended by the number of tokens
    longest: int  # tokens
    window: int | None  # tokens that a token sees, itself included


def document_starts(
    batch_size: int,
    q_length: int,
    kv_length: int,
    mask_function: Any,
    attention_mask: Tensor | None = None,
    local_size: int | None = None,
    use_vmap: bool = False,
    device: torch.device | str = "cpu",
    **kwargs: object,
) -> Documents:
    """What transformers' mask interface asks for.

    A document begins where a token does not see the one before it.
    """
    if attention_mask is not None or use_vmap or q_length != kv_length or local_size == 1:
        raise ValueError("flash varlen knows no padding, caches, or masks of a model's own")
    sample = torch.arange(batch_size, device=device)[:, None]
    place = torch.arange(q_length, device=device)[None]
    before = (place - 1).clamp(min=0)
    begins = ~mask_function(sample, torch.zeros_like(sample), place, before)
    begins = begins.expand(batch_size, q_length) | (place == 0)
    starts = begins.flatten().nonzero().flatten()
    starts = torch.cat([starts, starts.new_tensor([batch_size * q_length])]).int()
    return Documents(starts, int(starts.diff().max()), local_size)


def document_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Documents | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    position_bias: Tensor | None = None,
    **kwargs: object,
) -> tuple[Tensor, None]:
    """What transformers' attention interface asks for; heads of queries may share keys.

    It computes in bfloat16 whatever it is given.
    """
    if dropout or softcap or s_aux is not None or position_bias is not None:
        raise ValueError("flash varlen knows no dropout, soft caps, sinks or biases")
    if query.shape[3] != value.shape[3]:
        raise ValueError("flash varlen wants values as wide as queries")
    if not isinstance(attention_mask, Documents):
        raise ValueError("flash varlen wants to know where documents begin")
    samples, context = query.shape[0], query.shape[2]
    starts, longest = attention_mask.starts, attention_mask.longest
    window = attention_mask.window
    # The kernel's window counts the tokens before the token itself.
    left = -1 if window is None or window >= longest else window - 1
    options: dict[str, Any] = {"scale": scaling, "window_size": (left, 0)}
    options |= _GROUPED if query.shape[1] != key.shape[1] else {}
    flat = _end_to_end(query), _end_to_end(key), _end_to_end(value)
    mixed: Any = varlen_attn(*flat, starts, starts, longest, longest, **options)
    return mixed.unflatten(0, (samples, context)).to(value.dtype), None


def _end_to_end(tensor: Tensor) -> Tensor:
    return tensor.transpose(1, 2).flatten(0, 1).to(_NARROW)


# Never compiled: the kernel is one operation, and the longest document differs in every batch.
AttentionInterface.register(VARLEN, torch.compiler.disable(document_attention))
AttentionMaskInterface.register(VARLEN, document_starts)
