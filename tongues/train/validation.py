"""Loss on held-out text, per language."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

from tongues.train.documents import logits
from tongues.train.processor import Processor, autocast

__all__ = ["HeldOut", "Loss", "held_out", "validate"]

_ROWS = 32  # windows scored at a time


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The held-out tokens of a language, cut into windows, and the bytes they stand for."""

    windows: torch.Tensor  # [windows, context + 1]; neighbours share one token
    text_bytes: int


@dataclass(frozen=True, slots=True)
class Loss:
    """Loss on one language's held-out text."""

    nats_per_token: float
    bits_per_byte: float


def held_out(tokens: np.ndarray, token_bytes: np.ndarray, context: int) -> HeldOut:
    """Cut a language's held-out tokens into whole windows: each token is predicted once."""
    count = (len(tokens) - 1) // context
    assert count > 0, "fewer held-out tokens than one context"
    windows = np.lib.stride_tricks.sliding_window_view(tokens, context + 1)[::context][:count]
    scored = windows[:, 1:]
    return HeldOut(torch.from_numpy(windows.astype(np.int64)), int(token_bytes[scored].sum()))


@torch.inference_mode()
def validate(
    model: PreTrainedModel,
    texts: Mapping[str, HeldOut],
    processor: Processor,
    apart_by: int | None = None,
) -> dict[str, Loss]:
    """The loss of each language: the sum over its tokens over their number, or their bytes.

    apart_by: the token that ends a document, where documents are kept apart.
    """
    model.eval()
    losses: dict[str, Loss] = {}
    for lang, text in texts.items():
        total = 0.0
        for windows in text.windows.split(_ROWS):
            windows = windows.to(processor.device)
            with autocast(processor):
                predicted = logits(model, windows[:, :-1], apart_by)
            wanted = windows[:, 1:].flatten()
            total += cross_entropy(predicted.flatten(0, 1).float(), wanted, reduction="sum").item()
        tokens = text.windows.shape[0] * (text.windows.shape[1] - 1)
        losses[lang] = Loss(total / tokens, total / math.log(2) / text.text_bytes)
    model.train()
    return losses
