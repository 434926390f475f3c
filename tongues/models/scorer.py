"""Log-probabilities of tokens by a causal model: the one way in which they are computed.

Training's loss, validation, evaluation, experts and generation all take `log_probs` of logits:
log-softmax in float32. `BatchScorer` reads batches of rows, with or without a cached prefix, and
never holds more logits than the device takes well.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

_PROBED = 24  # tokens on which a quick way is tried
_CONTINUED = 1e-3  # of the logits' spread, by which continuing from a cache may differ
_SAME = 1e-5  # of the largest logit, by which the output matrix alone may differ
_MOVED = 30.0  # operations in the time in which a cached byte is copied for a row, measured
_CHUNK = 2**21  # logits made and used up at a time, so that they stay near the processor

_PLAIN = (DynamicLayer, DynamicSlidingWindowLayer)  # keys and values are all that they cache

# New tokens, logits, and bytes of keys and values at a time; chosen: scores differ by rounding.
_CPU = (2**11, 2**24, 2**29)
_CUDA = (2**14, 2**27, 2**32)  # a GPU has more to do at once


def log_probs(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The log-probability of each target [...] by its logits [..., V], in float32.

    The second result is the normalizer, logsumexp(logits) [...]. Both have a gradient.
    """
    logits = logits.float()
    normalizer = logits.logsumexp(-1)
    return logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1) - normalizer, normalizer


def chunked_logits(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, size: int
) -> Iterator[tuple[slice, Tensor]]:
    """Logits in float32 of hidden states [rows, width], in chunks of rows of about `size` numbers.

    weight, bias: of the output matrix. The product is made in autocast's type where that is on.
    """
    kind = hidden.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
    hidden, matrix = hidden.to(dtype), weight.to(dtype).T
    rows = max(1, size // len(weight))
    for part in (slice(start, start + rows) for start in range(0, len(hidden), rows)):
        logits = (hidden[part] @ matrix).float()
        yield part, logits if bias is None else logits + bias.float()


@dataclass(frozen=True, slots=True)
class Prefix:
    """Keys and values of rows that begin with `length` tokens each."""

    cache: DynamicCache | None = None
    length: int = 0

    def of(self, places: Tensor) -> DynamicCache | None:
        """The cache for rows that begin as those at these places; the prefix itself stays."""
        if self.cache is None:
            return None
        cache = copy(self.cache)
        cache.layers = [copy(layer) for layer in self.cache.layers]
        for layer in cache.layers:
            if isinstance(layer, DynamicLayer) and layer.keys is not None:
                assert layer.values is not None
                layer.keys = _rows_of(layer.keys, places)
                layer.values = _rows_of(layer.values, places)
        return cache


@dataclass(frozen=True, slots=True)
class BatchScorer:
    """A model and how batches of token rows are scored with it."""

    model: PreTrainedModel
    vocabulary: int
    tokens: int  # new ones in a batch
    logits: int  # held at a time
    memory: int  # bytes of keys and values
    column: int | None  # bytes of one token's keys and values; None: the model cannot share them
    moved: float = 0.0  # tokens that could be read while those bytes are copied
    head: nn.Linear | None = None  # makes logits of the last hidden states; None: there is more

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return self.model.device

    def fits(self, rows: int, columns: int, scored: int) -> bool:
        """Whether `rows` of `columns` tokens may be read together, `scored` of each scored."""
        logits = 0 if self.head else rows * scored * self.vocabulary
        return rows * columns * (self.column or 0) <= self.memory and logits <= self.logits

    def read(self, tokens: Tensor, cache: DynamicCache | None) -> DynamicCache:
        """The cache once rows [rows, T] of tokens are read behind what it holds already."""
        cache = DynamicCache(config=self.model.config) if cache is None else cache
        _logits(self.model, tokens, cache, 1)
        return cache

    def score(
        self, tokens: Tensor, targets: Tensor, mask: Tensor, cache: DynamicCache | None = None
    ) -> tuple[Tensor, Tensor]:
        """Log-probabilities [rows, T] of the targets, and whether no token is likelier.

        Both mean nothing where `mask` [rows, T] is false. What pads a row's end does not matter to
        what is before it.
        """
        scores = torch.zeros(tokens.shape, device=self.device)
        best = torch.zeros(tokens.shape, dtype=torch.bool, device=self.device)
        if self.head is not None:
            states, wanted = _hidden(self.model, tokens, cache)[mask], targets[mask]
            head, parts = self.head, list[tuple[Tensor, Tensor]]()
            for part, logits in chunked_logits(states, head.weight, head.bias, _CHUNK):
                parts.append(_scored(logits, wanted[part]))
            scores[mask] = torch.cat([score for score, _ in parts])
            best[mask] = torch.cat([of for _, of in parts])
            return scores, best
        count = tokens.shape[1]
        first = int(mask.any(dim=0).int().argmax())
        step = count - first
        if self.column is not None:
            step = min(step, max(1, self.logits // (len(tokens) * self.vocabulary)))
            if cache is None and step < count - first:
                cache = DynamicCache(config=self.model.config)
        start = 0
        for stop in range(first + step, count + step, step):
            part = slice(max(start, first), stop)
            wanted = targets[:, part]
            logits = _logits(self.model, tokens[:, start:stop], cache, wanted.shape[1])
            scores[:, part], best[:, part] = _scored(logits, wanted)
            start = stop
        return scores, best & mask


def batch_scorer(model: PreTrainedModel) -> BatchScorer:
    """How any model can be scored with, nothing tried: it is taken to continue from a cache."""
    sizes = _CUDA if model.device.type == "cuda" else _CPU
    return BatchScorer(model, int(model.config.get_text_config().vocab_size), *sizes, column=0)


def probed_scorer(model: PreTrainedModel, tokens: np.ndarray) -> BatchScorer:
    """The quickest way to score with a model.

    Each quick way is tried on the first of `tokens` against the model's own logits, and left where
    these differ.
    """
    used = sum(weight.numel() for weight in model.parameters())
    used -= sum(weight.numel() for weight in model.get_input_embeddings().parameters())
    probe = torch.from_numpy(np.resize(tokens, _PROBED).astype(np.int64))[None].to(model.device)
    whole = _logits(model, probe, None, _PROBED)
    column = _column(model, probe, whole)
    return BatchScorer(
        model,
        whole.shape[2],
        *(_CUDA if model.device.type == "cuda" else _CPU),
        column,
        moved=_MOVED * (column or 0) / max(used, 1),
        head=_head(model, probe, whole),
    )


def _column(model: PreTrainedModel, probe: Tensor, whole: Tensor) -> int | None:
    """Bytes that a model caches of a token; None where it does not continue as if it read all.

    Tried on a beginning handed to two rows.
    """
    half = _PROBED // 2
    try:
        cache = DynamicCache(config=model.config)
        layers = [one for one in cache.layers if isinstance(one, DynamicLayer)]
        layers = [one for one in layers if type(one) in _PLAIN]
        _logits(model, probe[:, :half], cache, 1)
        two = torch.zeros(2, dtype=torch.long, device=model.device)
        behind = Prefix(cache, half).of(two)
        again = _logits(model, probe[:, half:].expand(2, half), behind, half)
    except Exception:  # each family raises its own
        return None
    held = [w for layer in layers for w in (layer.keys, layer.values) if w is not None]
    alike = bool((again - whole[:, half:]).abs().max() <= _CONTINUED * whole.std())
    if not held or not alike or len(layers) < len(cache.layers):
        return None
    return sum(w.numel() * w.element_size() for w in held) // half


def _head(model: PreTrainedModel, probe: Tensor, whole: Tensor) -> nn.Linear | None:
    """The output matrix, where the logits are what it makes and nothing is done to them."""
    head = model.get_output_embeddings()
    if not isinstance(head, nn.Linear):
        return None
    try:
        made = head(_hidden(model, probe, None)).float()
    except Exception:  # each family raises its own
        return None
    same = made.shape == whole.shape and (made - whole).abs().max() <= _SAME * whole.abs().max()
    return head if same else None


def _rows_of(states: Tensor, places: Tensor) -> Tensor:
    """The states of these rows; without a copy where there is but one."""
    if len(states) == 1:
        return states.expand(len(places), -1, -1, -1)
    return states[places]


def _logits(
    model: PreTrainedModel, tokens: Tensor, cache: DynamicCache | None, kept: int
) -> Tensor:
    """Logits [rows, kept, V] of the last columns, in float32; a cache grows by all of them."""
    out = model(
        input_ids=tokens, past_key_values=cache, use_cache=cache is not None, logits_to_keep=kept
    )
    return out.logits[:, -kept:].float()


def _hidden(model: PreTrainedModel, tokens: Tensor, cache: DynamicCache | None) -> Tensor:
    """The last hidden states [rows, T, width]."""
    out = model.base_model(input_ids=tokens, past_key_values=cache, use_cache=cache is not None)
    return out.last_hidden_state


def _scored(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The log-probability of each target by its logits, and whether no token is likelier."""
    reached = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return log_probs(logits, targets)[0], reached >= logits.amax(-1)
