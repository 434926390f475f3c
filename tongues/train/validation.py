"""Loss on held-out text, per language."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from tongues.train.engine.compiling import uncompiled
from tongues.train.engine.processes import Processes
from tongues.train.engine.scorer import Scorer
from tongues.train.engine.sharding import reshard

__all__ = ["HeldOut", "HeldOutLoss", "cut_windows", "validate"]

_TOKENS = 8192  # scored at a time, about


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The held-out tokens of a language, cut into windows, and the bytes they stand for."""

    windows: torch.Tensor  # [windows, context + 1]; neighbours share one token
    text_bytes: int


@dataclass(frozen=True, slots=True)
class HeldOutLoss:
    """Loss on one language's held-out text."""

    nats_per_token: float
    bits_per_byte: float


def cut_windows(
    tokens: np.ndarray, token_bytes: np.ndarray, context: int, at_most: int | None = None
) -> HeldOut:
    """Cut a language's held-out tokens into whole windows: each token is predicted once.

    at_most: tokens to score; of more, windows at even distances are taken.
    """
    count = (len(tokens) - 1) // context
    assert count > 0, "fewer held-out tokens than one context"
    windows = np.lib.stride_tricks.sliding_window_view(tokens, context + 1)[::context][:count]
    if at_most is not None and count * context > at_most:
        taken = max(1, at_most // context)
        windows = windows[np.arange(taken) * count // taken]
    scored = windows[:, 1:]
    return HeldOut(torch.from_numpy(windows.astype(np.int64)), int(token_bytes[scored].sum()))


def validate(
    scorer: Scorer, texts: Mapping[str, HeldOut], processes: Processes
) -> dict[str, HeldOutLoss]:
    """The loss of each language: the sum over its tokens over their number, or their bytes.

    Documents are kept apart or not as the scorer does in training.
    """
    scorer.eval()
    with torch.no_grad(), uncompiled():
        nats = processes.sum([_nats(scorer, text, processes) for text in texts.values()])
    reshard(scorer)
    scorer.train()
    losses: dict[str, HeldOutLoss] = {}
    for (lang, text), total in zip(texts.items(), nats, strict=True):
        tokens = text.windows.shape[0] * (text.windows.shape[1] - 1)
        losses[lang] = HeldOutLoss(total / tokens, total / math.log(2) / text.text_bytes)
    return losses


def _nats(scorer: Scorer, text: HeldOut, processes: Processes) -> float:
    """The nats of this process's windows; all processes score equally often, as FSDP asks."""
    rows = max(1, _TOKENS // text.windows.shape[1])
    parts = text.windows.split(rows)
    total = torch.zeros((), dtype=torch.float64, device=scorer.processor.device)
    for first in range(0, len(parts), processes.count):
        ours = processes.share(parts[first : first + processes.count])
        windows = ours[0] if ours else text.windows[:1]
        nats = scorer(windows.to(scorer.processor.device))[1]
        total += nats if ours else 0.0
    return float(total)
