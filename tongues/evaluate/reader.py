"""How a model is read here: how much at a time, and which quick ways it can be read in.

Each quick way is tried on a few tokens against the model's own logits, and left where these differ.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from tongues.evaluate.memory import Memory

__all__ = ["Reader", "measured"]

_PROBED = 24  # tokens on which a quick way is tried
_REMEMBERED = 1e-3  # of the logits' spread, by which going on from what is remembered may differ
_SAME = 1e-5  # of the largest logit, by which the output matrix alone may differ
_MOVED = 30.0  # operations in the time in which a remembered byte is copied for a row, measured
_CHUNK = 2**21  # logits made and used up at a time, so that they stay near the processor

# New tokens, logits, and bytes of keys and values at a time.
_CPU = (2**11, 2**24, 2**29)
_CUDA = (2**14, 2**27, 2**32)


@dataclass(frozen=True, slots=True)
class Reader:
    """A model and how it can be read."""

    model: PreTrainedModel
    vocabulary: int
    tokens: int  # new ones in a batch
    logits: int  # held at a time
    memory: int  # bytes of keys and values
    column: int | None  # bytes of one token's keys and values; None: the model cannot share them
    moved: float  # tokens that could be read while those bytes are copied
    head: nn.Module | None  # makes logits of the last hidden states; None: the model does more

    @property
    def device(self) -> torch.device:
        """Where the model lies."""
        return self.model.device

    def fits(self, rows: int, columns: int, asked: int) -> bool:
        """Whether so many rows may be read together, of so many columns in memory."""
        logits = 0 if self.head else rows * asked * self.vocabulary
        return rows * columns * (self.column or 0) <= self.memory and logits <= self.logits

    def remember(self, tokens: Tensor, cache: DynamicCache | None) -> DynamicCache:
        """What is remembered once rows [rows, T] of tokens are read, behind what was before."""
        cache = DynamicCache(config=self.model.config) if cache is None else cache
        _logits(self.model, tokens, cache, 1)
        return cache

    def reached(
        self, tokens: Tensor, wanted: Tensor, asked: Tensor, cache: DynamicCache | None
    ) -> tuple[Tensor, Tensor]:
        """Log-probabilities [rows, T] of the wanted tokens, and whether none is likelier.

        Both are 0 where `asked` [rows, T] is false.
        """
        found = torch.zeros(tokens.shape, device=self.device)
        best = torch.zeros(tokens.shape, dtype=torch.bool, device=self.device)
        if self.head is not None:
            states = _hidden(self.model, tokens, cache)[asked]
            size = max(1, _CHUNK // self.vocabulary)
            parts = zip(states.split(size), wanted[asked].split(size), strict=True)
            each = [_gold(self.head(some), gold) for some, gold in parts]
            found[asked] = torch.cat([likely for likely, _ in each])
            best[asked] = torch.cat([of for _, of in each])
            return found, best
        count = tokens.shape[1]
        first = int(asked.any(dim=0).int().argmax())
        step = count - first
        if self.column is not None:
            step = min(step, max(1, self.logits // (len(tokens) * self.vocabulary)))
            if cache is None and step < count - first:
                cache = DynamicCache(config=self.model.config)
        start = 0
        for stop in range(first + step, count + step, step):
            gold = wanted[:, max(start, first) : stop]
            logits = _logits(self.model, tokens[:, start:stop], cache, gold.shape[1])
            likely, of = _gold(logits.flatten(0, 1), gold.flatten())
            found[:, max(start, first) : stop] = likely.view(gold.shape)
            best[:, max(start, first) : stop] = of.view(gold.shape)
            start = stop
        return found, best & asked


def measured(model: PreTrainedModel, tokens: np.ndarray) -> Reader:
    """How a model can be read, tried on the first of these tokens."""
    used = sum(weight.numel() for weight in model.parameters())
    used -= sum(weight.numel() for weight in model.get_input_embeddings().parameters())
    probe = torch.from_numpy(np.resize(tokens, _PROBED).astype(np.int64))[None].to(model.device)
    whole = _logits(model, probe, None, _PROBED)
    column = _column(model, probe, whole)
    new, logits, memory = _CUDA if model.device.type == "cuda" else _CPU
    return Reader(
        model,
        whole.shape[2],
        new,
        logits,
        memory,
        column,
        moved=_MOVED * (column or 0) / max(used, 1),
        head=_head(model, probe, whole),
    )


def _column(model: PreTrainedModel, probe: Tensor, whole: Tensor) -> int | None:
    """Bytes that a model remembers of a token; None where it does not go on as if it read all.

    Tried on a beginning handed to two rows.
    """
    half = _PROBED // 2
    try:
        cache = DynamicCache(config=model.config)
        layers = [one for one in cache.layers if isinstance(one, DynamicLayer) and _plain(one)]
        _logits(model, probe[:, :half], cache, 1)
        two = torch.zeros(2, dtype=torch.long, device=model.device)
        behind = Memory(cache, half).of(two)
        again = _logits(model, probe[:, half:].expand(2, half), behind, half)
    except Exception:  # each family raises its own
        return None
    held = [w for layer in layers for w in (layer.keys, layer.values) if w is not None]
    alike = bool((again - whole[:, half:]).abs().max() <= _REMEMBERED * whole.std())
    if not held or not alike or len(layers) < len(cache.layers):
        return None
    return sum(w.numel() * w.element_size() for w in held) // half


def _head(model: PreTrainedModel, probe: Tensor, whole: Tensor) -> nn.Module | None:
    """The output matrix, where the logits are what it makes and nothing is done to them."""
    head = model.get_output_embeddings()
    if head is None:
        return None
    try:
        made = head(_hidden(model, probe, None)).float()
    except Exception:  # each family raises its own
        return None
    same = made.shape == whole.shape and (made - whole).abs().max() <= _SAME * whole.abs().max()
    return head if same else None


def _plain(layer: DynamicLayer) -> bool:
    """Whether keys and values are all that it remembers."""
    return type(layer) in (DynamicLayer, DynamicSlidingWindowLayer)


def _logits(
    model: PreTrainedModel, tokens: Tensor, cache: DynamicCache | None, kept: int
) -> Tensor:
    """Logits [rows, kept, V] of the last columns, in float32; a cache goes on by all of them."""
    out = model(
        input_ids=tokens, past_key_values=cache, use_cache=cache is not None, logits_to_keep=kept
    )
    return out.logits[:, -kept:].float()


def _hidden(model: PreTrainedModel, tokens: Tensor, cache: DynamicCache | None) -> Tensor:
    """The last hidden states [rows, T, width]."""
    out = model.base_model(input_ids=tokens, past_key_values=cache, use_cache=cache is not None)
    return out.last_hidden_state


def _gold(logits: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """The log-probability of each wanted token by its logits, and whether none is likelier."""
    logits = logits.float()
    best = logits.gather(1, wanted[:, None])[:, 0] >= logits.amax(1)
    return -cross_entropy(logits, wanted, reduction="none"), best
