"""The loss over the vocabulary, in chunks of rows, so that the logits are never all in memory.

A chunk's gradient follows from its own logits, so it is made in the forward pass at once.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from tongues.models.scorer import chunked_logits, log_probs

Powers = Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor, Tensor]]

LOGITS = {"cpu": 2**23, "cuda": 2**27}  # of a chunk


def full_loss(
    logits: Tensor, targets: Tensor, counted: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Objective and nats of logits [rows, vocabulary] (see `chunked_loss`)."""
    scores, _ = log_probs(logits, targets)
    if counted is not None:
        scores = scores * counted
    return -scores.sum(), -scores.detach().sum(dtype=torch.float64)


def powers(logits: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Of each row: exp(logit - highest) in the logits' type, their exact sum, and the highest."""
    exact = logits.float() if bias is None else logits.float() + bias
    highest = exact.amax(1)
    exponentials = (exact - highest[:, None]).exp()
    return exponentials.to(logits.dtype), exponentials.sum(1), highest


def chunked_loss(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    powers: Powers = powers,
    counted: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Objective and nats of hidden states [rows, width] before the output matrix.

    nats is the sum of -log p(target), as a float64 without a gradient; the objective is the same,
    to be derived from. powers: the function of that name, as it is or compiled. counted: rows that
    belong to the sum, by default all.
    """
    if torch.is_grad_enabled() and (hidden.requires_grad or weight.requires_grad):
        return _ChunkedLoss.apply(hidden, weight, bias, targets, powers, counted)
    nats = hidden.new_zeros((), dtype=torch.float64)
    for part, logits in chunked_logits(hidden, weight, bias, LOGITS[hidden.device.type]):
        scores, _ = log_probs(logits, targets[part])
        if counted is not None:
            scores = scores * counted[part]
        nats = nats - scores.sum(dtype=torch.float64)
    return nats.float(), nats


class _ChunkedLoss(Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        powers: Powers,
        counted: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        kind = hidden.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
        nats = hidden.new_zeros((), dtype=torch.float64)
        ctx.mark_non_differentiable(nats)
        with torch.autocast(kind, enabled=False):
            narrow, matrix = hidden.to(dtype), weight.to(dtype)
            offset = None if bias is None else bias.float()
            ctx.hidden = torch.empty_like(narrow)
            ctx.weight = None
            if ctx.needs_input_grad[1]:
                ctx.weight = torch.zeros_like(weight, dtype=torch.float32)
            ctx.bias = None if offset is None else torch.zeros_like(offset)
            rows = max(1, LOGITS[kind] // len(weight))
            for part in (slice(start, start + rows) for start in range(0, len(narrow), rows)):
                logits, chosen = narrow[part] @ matrix.T, targets[part]
                at = torch.arange(len(chosen), device=chosen.device), chosen
                slope, total, highest = powers(logits, offset)
                reached = logits[at].float() + (0 if offset is None else offset[chosen])
                lost = total.log() + highest - reached
                if counted is not None:
                    lost = lost * counted[part]
                nats += lost.sum(dtype=torch.float64)
                # The slope by logit is scale · powers, less 1 at the target; the scale, one a row,
                # is left to the narrow side of each product.
                scale = 1 / total
                slope[at] = (slope[at] - 1 / scale).to(dtype)
                if counted is not None:
                    scale = scale * counted[part]
                ctx.hidden[part] = (slope @ matrix) * scale[:, None]
                if ctx.weight is not None:
                    ctx.weight += slope.T @ (narrow[part] * scale[:, None]).to(dtype)
                if ctx.bias is not None:
                    ctx.bias += scale @ slope.float()
        return nats.float(), nats

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        scale = grad_outputs[0]
        hidden, weight, bias = ctx.hidden, ctx.weight, ctx.bias
        ctx.hidden = ctx.weight = ctx.bias = None  # it goes back once
        weight = None if weight is None else weight.mul_(scale)
        return hidden.mul_(scale), weight, None if bias is None else bias.mul_(scale), *3 * [None]
