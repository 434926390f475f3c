"""Causal attention by blocks of rows on a CPU.

Each block of queries meets only the keys up to its end, by plain batched products, which small
heads multiply several times faster than the built-in kernel and half as much as a whole matrix.
Keys before the first that any query of the block may see are left out too: of documents that do
not see one another, and before a window.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

# Compiled code leaves no keys out, since how many differs from sample to
# sample; the second is never compiled.
BLOCKED, DOCUMENTS = "tongues_blocked", "tongues_documents"
_ROWS = 128  # queries at a time


def blocked_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    **kwargs: object,
) -> tuple[Tensor, None]:
    """What transformers' attention interface asks for; heads of queries may share keys.

    attention_mask: true where a query [.., rows, 1] may see a key [.., 1, columns], the same for
    all heads; it must forbid later columns.
    """
    if dropout or softcap or query.shape[2] != key.shape[2]:
        raise ValueError("blocked attention knows no dropout, soft caps or caches")
    if attention_mask is None or attention_mask.dtype != torch.bool or attention_mask.shape[1] > 1:
        raise ValueError("blocked attention wants a mask of yes and no, one for all heads")
    heads, context, width = query.shape[1:]
    groups = key.shape[1]
    query = query * (width**-0.5 if scaling is None else scaling)
    query = query.unflatten(1, (groups, heads // groups))
    key = key.transpose(2, 3)
    parts, left_out = [], not torch.compiler.is_compiling()
    for start in range(0, context, _ROWS):
        stop = min(start + _ROWS, context)
        rows = query[:, :, :, start:stop]
        seen = attention_mask[:, :, None, start:stop, :stop]
        first = int(seen.amax((0, 1, 2, 3)).int().argmax()) if start and left_out else 0
        seen = seen[..., first:]
        scores = torch.matmul(rows.flatten(2, 3), key[..., first:stop])
        scores = scores.unflatten(2, rows.shape[2:4])
        # Added, not filled in: so its gradient costs nothing.
        hidden = torch.where(seen, 0.0, torch.finfo(torch.float32).min)
        weights = (scores.float() + hidden).softmax(-1).to(value.dtype)
        part = torch.matmul(weights.flatten(2, 3), value[:, :, first:stop])
        parts.append(part.unflatten(2, rows.shape[2:4]))
    mixed = torch.cat(parts, dim=3).flatten(1, 2)
    return mixed.transpose(1, 2).contiguous(), None


def _whole_mask(*given: Any, **named: Any) -> Tensor | None:
    """Transformers' mask, made even where it says no more than that attention is causal."""
    return sdpa_mask(*given, **named | {"allow_is_causal_skip": False})


AttentionInterface.register(BLOCKED, blocked_attention)
AttentionInterface.register(DOCUMENTS, torch.compiler.disable(blocked_attention))
for _name in (BLOCKED, DOCUMENTS):
    AttentionMaskInterface.register(_name, _whole_mask)
