"""What kernels of GPUs compute, in plain PyTorch, and where they may err."""

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from tests.models.families import WIDTHS
from tongues.train.engine import varlen

CONTEXT, END = 48, 3
SIZES: dict[str, Any] = WIDTHS | {"num_key_value_heads": 2, "head_dim": 16, "pad_token_id": 0}
SIZES |= {"vocab_size": 96, "hidden_size": 64}


def made(kind: str, **settings: Any) -> PreTrainedModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **SIZES | settings))
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.2)
    return model.train()


def windows(seed: int = 1, samples: int = 2) -> Tensor:
    chance = torch.Generator().manual_seed(seed)
    return torch.randint(END + 1, 96, (samples, CONTEXT + 1), generator=chance)


class PlainVarlen:
    """The flash kernel's sums; faults are added to its scale and its window."""

    def __init__(self) -> None:
        self.scale, self.window, self.joined = 1.0, 0, False
        self.calls: list[tuple[torch.dtype, tuple[int, int]]] = []

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        starts: Tensor,
        starts_of_keys: Tensor,
        longest: int,
        longest_of_keys: int,
        *,
        scale: float,
        window_size: tuple[int, int],
        enable_gqa: bool = False,
    ) -> Tensor:
        assert starts.dtype == torch.int32 and starts is starts_of_keys
        assert longest == longest_of_keys == int(starts.diff().max())
        assert enable_gqa == (query.shape[1] != key.shape[1]) and window_size[1] == 0
        self.calls.append((query.dtype, window_size))
        heads = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(heads, 1), value.repeat_interleave(heads, 1)
        scale *= self.scale
        ends = [0, len(query)] if self.joined else starts.tolist()
        parts = []
        for begin, end in pairwise(ends):
            of = [tensor[begin:end].transpose(0, 1).float() for tensor in (query, key, value)]
            scores = of[0] @ of[1].transpose(1, 2) * scale
            back = torch.arange(end - begin)[:, None] - torch.arange(end - begin)
            hidden = back < 0
            if window_size[0] >= 0:
                hidden |= back > window_size[0] + self.window
            weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
            parts.append((weights.to(query.dtype).float() @ of[2]).transpose(0, 1))
        return torch.cat(parts).to(query.dtype)


@pytest.fixture
def plain_varlen(monkeypatch: pytest.MonkeyPatch) -> PlainVarlen:
    kernel = PlainVarlen()
    monkeypatch.setattr(varlen, "varlen_attn", kernel)
    return kernel
