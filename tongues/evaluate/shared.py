"""Rows of tokens read by one model: beginnings that rows share are read once.

Rows come in families, such as the choices of an item, and families have beginnings in common, such
as demonstrations. A beginning is read once, its keys and values are handed to whatever goes on from
it, and rows go on together with others of about their length, padded at their ends, where nothing
that counts can see it. So no mask is needed, and any model that can go on from its own keys and
values can share them. Whether one can is tried; one that cannot reads every row whole.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from tongues.evaluate.alike import Family, Row, common_beginnings, families_of, in_batches

__all__ = ["log_probs"]

_PROBED = 24  # tokens on which a model must show that it goes on from what it remembers
_NOISE = 1e-3  # of the logits' spread: what rounding may change
# New tokens, logits, and bytes of keys and values at a time.
_CPU = (2**11, 2**24, 2**29)
_CUDA = (2**14, 2**27, 2**32)

_MOVED = 6.0  # operations in the time in which a remembered byte is copied


@dataclass(frozen=True, slots=True)
class _Reader:
    """A model and how much of it fits at a time."""

    model: PreTrainedModel
    tokens: int  # new ones in a batch
    logits: int  # numbers
    memory: int  # bytes of keys and values
    column: int | None  # bytes of one token's keys and values; None: the model cannot share them
    moved: float  # tokens that could be read while those bytes are copied

    def fits(self, rows: int, columns: int) -> bool:
        """Whether so many rows may remember so many columns."""
        return rows * columns * (self.column or 0) <= self.memory


@dataclass(frozen=True, slots=True)
class _Memory:
    """What a model remembers of a beginning that rows have in common."""

    cache: DynamicCache | None
    length: int

    def of(self, places: Tensor) -> DynamicCache | None:
        """As rows remember it that begin as those at these places; what is held stays as it is."""
        if self.cache is None:
            return None
        found = copy(self.cache)
        found.layers = [copy(layer) for layer in self.cache.layers]
        for layer in found.layers:
            if isinstance(layer, DynamicLayer) and layer.keys is not None:
                assert layer.values is not None
                layer.keys = _rows_of(layer.keys, places)
                layer.values = _rows_of(layer.values, places)
        return found


@torch.inference_mode()
def log_probs(
    model: PreTrainedModel, rows: Sequence[Row], done: Callable[[int], None] = lambda rows: None
) -> list[np.ndarray]:
    """Of each row, the log-probability of its tokens from `start` on, in float64.

    No row may be longer than the model can see. done: is told how many more rows are read.
    """
    found = [np.empty(0)] * len(rows)
    asked = [number for number, row in enumerate(rows) if row.start < len(row.tokens)]
    if not asked:
        return found
    reader = _measured(model, [rows[number] for number in asked])
    for beginning, members in common_beginnings(families_of(rows, asked)):
        length = beginning if reader.column else 0
        memory = _Memory(None, 0)
        if length:
            tokens = rows[members[0].rows[0]].tokens[:length]
            memory = _remember(reader, memory, [tokens], torch.zeros(1, dtype=torch.long))
        for some, behind in _contexts(reader, rows, memory, members):
            numbers = [number for family in some for number in family.rows]
            places = [place for place, family in enumerate(some) for _ in family.rows]
            if behind.length == memory.length:
                places = [0] * len(numbers)
            _finish(reader, rows, numbers, behind, places, found, done)
    return found


def _measured(model: PreTrainedModel, rows: Sequence[Row]) -> _Reader:
    """What a batch may be, and whether beginnings can be shared."""
    tokens, logits, memory = _CUDA if model.device.type == "cuda" else _CPU
    embedding = model.get_input_embeddings()
    used = sum(weight.numel() for weight in model.parameters())
    used -= sum(weight.numel() for weight in embedding.parameters())
    column = _column(model, max(rows, key=lambda row: len(row.tokens)).tokens)
    return _Reader(
        model,
        tokens,
        logits,
        memory,
        column=column,
        moved=_MOVED * (column or 0) / max(used, 1),
    )


def _column(model: PreTrainedModel, tokens: np.ndarray) -> int | None:
    """Bytes that a model remembers of a token; None where it does not go on as if it read all.

    Tried on a beginning handed to two rows.
    """
    probe = torch.from_numpy(np.resize(tokens, _PROBED).astype(np.int64))[None].to(model.device)
    half = _PROBED // 2
    try:
        cache = DynamicCache(config=model.config)
        layers = [one for one in cache.layers if isinstance(one, DynamicLayer) and _plain(one)]
        whole = _logits(model, probe, None, half)
        _logits(model, probe[:, :half], cache, 1)
        behind = _Memory(cache, half).of(torch.zeros(2, dtype=torch.long, device=model.device))
        again = _logits(model, probe[:, half:].expand(2, half), behind, half)
    except Exception:  # each family raises its own
        return None
    held = [w for layer in layers for w in (layer.keys, layer.values) if w is not None]
    alike = bool((again - whole).abs().max() <= _NOISE * whole.std())
    if not held or not alike or len(layers) < len(cache.layers):
        return None
    return sum(w.numel() * w.element_size() for w in held) // half


def _plain(layer: DynamicLayer) -> bool:
    """Whether keys and values are all that it remembers."""
    return type(layer) in (DynamicLayer, DynamicSlidingWindowLayer)


def _contexts(
    reader: _Reader, rows: Sequence[Row], memory: _Memory, members: Sequence[Family]
) -> Iterator[tuple[list[Family], _Memory]]:
    """Families with what is remembered of their contexts, where reading these once is quicker."""
    alone: list[Family] = []
    worth: list[Family] = []
    for family in members:
        (worth if _pays(reader, family, memory.length) else alone).append(family)
    if alone:
        yield alone, memory
    for some in in_batches(
        worth,
        lambda family: family.shared - memory.length,
        lambda longest, count: (
            longest * count <= reader.tokens and reader.fits(2 * count, memory.length + longest)
        ),
    ):
        length = min(family.shared for family in some)
        contexts = [rows[family.rows[0]].tokens[memory.length : length] for family in some]
        places = torch.zeros(len(some), dtype=torch.long)
        yield some, _remember(reader, memory, contexts, places)


def _pays(reader: _Reader, family: Family, length: int) -> bool:
    """Whether reading a family's context once saves more than copying what it leaves costs."""
    if reader.column is None:
        return False
    saved = (len(family.rows) - 1) * (family.shared - length)
    return saved > (1 + len(family.rows)) * family.shared * reader.moved


def _remember(
    reader: _Reader, memory: _Memory, beginnings: Sequence[np.ndarray], places: Tensor
) -> _Memory:
    """What is remembered once these are read, all of one length, behind what was remembered."""
    tokens = torch.from_numpy(np.stack(beginnings).astype(np.int64)).to(reader.model.device)
    cache = memory.of(places.to(reader.model.device))
    cache = DynamicCache(config=reader.model.config) if cache is None else cache
    _logits(reader.model, tokens, cache, 1)
    return _Memory(cache, memory.length + tokens.shape[1])


def _finish(
    reader: _Reader,
    rows: Sequence[Row],
    numbers: Sequence[int],
    memory: _Memory,
    places: Sequence[int],
    found: list[np.ndarray],
    done: Callable[[int], None],
) -> None:
    """Score rows behind what is remembered of their beginnings, at these places."""
    vocabulary = int(reader.model.config.get_text_config().vocab_size)
    asked = max(len(rows[number].tokens) - rows[number].start for number in numbers)

    def fits(longest: int, count: int) -> bool:
        return (
            count * longest <= reader.tokens
            and count * min(longest, asked) * vocabulary <= reader.logits
            and reader.fits(2 * count, memory.length + longest)
        )

    members = list(zip(numbers, places, strict=True))
    for some in in_batches(
        members, lambda member: len(rows[member[0]].tokens) - 1 - memory.length, fits
    ):
        batch = [rows[number] for number, _ in some]
        which = torch.tensor([place for _, place in some], device=reader.model.device)
        for (number, _), likely in zip(some, _ends(reader, batch, memory, which), strict=True):
            found[number] = likely
        done(len(some))


def _ends(
    reader: _Reader, batch: Sequence[Row], memory: _Memory, which: Tensor
) -> Iterator[np.ndarray]:
    """The log-probabilities that rows ask for, the longest row first."""
    model, base = reader.model, memory.length
    rests = [torch.from_numpy(row.tokens[base:].astype(np.int64)) for row in batch]
    padded = torch.nn.utils.rnn.pad_sequence(rests, batch_first=True).to(model.device)
    tokens, wanted = padded[:, :-1], padded[:, 1:]
    count = tokens.shape[1]
    first = min(row.start for row in batch) - 1 - base  # column that is asked for
    step = count - first
    cache = memory.of(which)
    if reader.column is not None:
        vocabulary = int(model.config.get_text_config().vocab_size)
        step = min(step, max(1, reader.logits // (len(batch) * vocabulary)))
        if cache is None and step < count - first:
            cache = DynamicCache(config=model.config)
    found, start = [], 0
    for stop in range(first + step, count + step, step):
        part = tokens[:, start:stop]
        logits = _logits(model, part, cache, min(step, part.shape[1]))
        reached = wanted[:, max(start, first) : stop, None]
        found.append(logits.gather(2, reached).squeeze(2) - logits.logsumexp(2))
        start = stop
    likely = torch.cat(found, dim=1).double().cpu().numpy()
    for row, values in zip(batch, likely, strict=True):
        begin = row.start - 1 - base - first
        yield values[begin : begin + len(row.tokens) - row.start]


def _logits(
    model: PreTrainedModel, tokens: Tensor, cache: DynamicCache | None, kept: int
) -> Tensor:
    """Logits [rows, kept, V] of the last columns, in float32; a cache goes on by all of them."""
    out = model(
        input_ids=tokens, past_key_values=cache, use_cache=cache is not None, logits_to_keep=kept
    )
    return out.logits[:, -kept:].float()


def _rows_of(states: Tensor, places: Tensor) -> Tensor:
    """The states of these rows; without a copy where there is but one."""
    if len(states) == 1:
        return states.expand(len(places), -1, -1, -1)
    return states[places]
