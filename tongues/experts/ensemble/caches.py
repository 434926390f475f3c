"""What experts remember of texts that grow side by side: keys and values.

Texts join and leave at any time. An expert remembers each up to a place of its own, and reads what
it missed when it is needed again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import Cache, PretrainedConfig, PreTrainedModel

from tongues.core.errors import UserError
from tongues.experts.ensemble.ensemble import ExpertModels

_REMEMBERED = {"full_attention", "sliding_attention"}
_ROOM = 64  # columns at first
_EXCESS = 2  # times the usual room: more is given back


@dataclass(slots=True, eq=False)
class TokenSequence:
    """A text as experts read it; it grows by appending to `tokens`."""

    tokens: list[int]  # from the one before every text on
    longest: int  # tokens that are read of it at most
    experts: list[int] = field(default_factory=list)  # that have a weight now


def kept_bytes(config: PretrainedConfig, dtype: torch.dtype) -> int:
    """Bytes of keys and values that a model keeps of a token."""
    heads = config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    kept = config.num_hidden_layers * (getattr(config, "num_key_value_heads", 0) or heads)
    return 2 * kept * width * dtype.itemsize


class Caches:
    """The experts' logits for what follows in any of the texts.

    limit: bytes of keys and values; None: any. Where the usual room would exceed it, experts forget
    texts for which they have no weight now, and there is no extra room. The rest takes as much as
    the longest text for every expert with a weight for any text.
    """

    def __init__(self, models: ExpertModels, limit: int | None = None) -> None:
        self.models, self.limit = models, limit
        self._memories: dict[int, _Memory] = {}

    @property
    def bytes(self) -> int:
        """Bytes of keys and values that are held."""
        return sum(memory.bytes for memory in self._memories.values())

    def behind(self, expert: int, text: TokenSequence) -> int:
        """Tokens of the text that the expert has yet to read."""
        memory = self._memories.get(expert)
        read = (
            0 if memory is None or text not in memory.slots else memory.filled[memory.slots[text]]
        )
        return len(text.tokens) - int(read)

    def logits(self, expert: int, texts: Sequence[TokenSequence]) -> Tensor:
        """Logits [texts, V] for the token behind each, after reading what was missed."""
        stops = np.array([len(text.tokens) for text in texts])
        memory, slots = self._placed(expert, texts, int(stops.max()))
        missed = stops - memory.filled[slots]
        # texts that missed about as much are read together
        sizes = np.arange(len(texts)) if memory.apart else np.ceil(np.log2(missed))
        parts: list[Tensor] = []
        order: list[int] = []
        for size in np.unique(sizes):
            group = np.flatnonzero(sizes == size)
            places = group[np.argsort(slots[group])]
            some = [texts[place] for place in places]
            parts.append(self._forward(expert, memory, some, slots[places], stops[places]))
            order += places.tolist()
        logits = torch.cat(parts) if len(parts) > 1 else parts[0]
        return logits if order == sorted(order) else logits[np.argsort(order)]

    def read(self, expert: int, text: TokenSequence, stop: int, last: int = 1) -> Tensor:
        """Read a text up to its token `stop`; logits [last, V] behind its last tokens there."""
        memory, slots = self._placed(expert, [text], stop)
        return self._forward(expert, memory, [text], slots, np.array([stop]), last)

    @torch.inference_mode()
    def forget(self, text: TokenSequence) -> None:
        """Drop all that is remembered of a text."""
        for expert, memory in list(self._memories.items()):
            memory.forget(text)
            if not memory.slots:
                del self._memories[expert]
            elif prod(memory.shape) > _EXCESS * prod(memory.usual()):
                memory.resize(memory.usual())

    @torch.inference_mode()
    def _placed(
        self, expert: int, texts: Sequence[TokenSequence], stop: int
    ) -> tuple["_Memory", np.ndarray]:
        """An expert's memory with room for texts up to their tokens `stop`, and their slots."""
        if expert not in self._memories:
            folder = str(self.models.folders[expert])
            self._memories[expert] = _Memory(self.models[expert], folder)
        memory = self._memories[expert]
        slots = memory.slots_of(texts)
        if len(memory.slots) <= memory.shape[0] and stop <= memory.shape[1]:
            return memory, slots
        others = self.bytes - memory.bytes
        if self.limit is None or others + memory.bytes_of(memory.usual(stop)) <= self.limit:
            memory.resize(memory.usual(stop))
            return memory, slots
        for number, other in list(self._memories.items()):
            for text in list(other.slots):
                read_now = other is memory and text in texts
                if not read_now and number not in text.experts:
                    other.forget(text)
            if not other.slots:
                del self._memories[number]
            elif other is not memory:
                other.resize((len(other.slots), min(other.shape[1], other.usual()[1])))
        memory.resize((len(memory.slots), memory.usual(stop)[1]))
        return memory, memory.slots_of(texts)

    def _forward(
        self,
        expert: int,
        memory: "_Memory",
        texts: Sequence[TokenSequence],
        slots: np.ndarray,
        stops: np.ndarray,
        last: int = 1,
    ) -> Tensor:
        """Read texts up to their tokens `stops`; logits [texts * last, V] behind their last ones.

        slots: in which they are, in order. More than one is given only of a text by itself.
        """
        model, filled = self.models[expert], memory.filled[slots]
        missed = stops - filled
        width = int(missed.max())
        rows = np.zeros((len(texts), width), dtype=np.int64)
        for row, text, start, stop in zip(rows, texts, filled, stops, strict=True):
            row[: stop - start] = text.tokens[start:stop]
        places = np.minimum(filled[:, None] + np.arange(width), stops[:, None] - 1)
        # logits are wanted behind the last column that is read of each
        lasts, last_of = np.unique(missed, return_inverse=True)
        columns = 1 if len(lasts) == 1 else torch.from_numpy(lasts - 1).to(model.device)
        logits = model(
            input_ids=torch.from_numpy(rows).to(model.device),
            attention_mask=memory.turn(slots, stops, width),
            position_ids=torch.from_numpy(places).to(model.device),
            past_key_values=memory,
            use_cache=True,
            logits_to_keep=last if len(texts) == 1 else columns,
        ).logits
        memory.filled[slots] = stops
        if len(texts) == 1:
            return logits[0].float().to(self.models.home)
        behind = logits[torch.arange(len(texts)), torch.from_numpy(last_of)]
        return behind.float().to(self.models.home)


class _Memory(Cache):
    """Keys and values of one expert, by slot and column; transformers reads and writes them.

    A text has a slot, and its tokens the columns from 0 on. Slots are kept without gaps, so that
    all texts at once are seen without copying.
    """

    def __init__(self, model: PreTrainedModel, where: str) -> None:
        super().__init__(layers=[])
        config = model.config.get_text_config()
        self._kinds = set(getattr(config, "layer_types", None) or ())
        others = self._kinds - _REMEMBERED
        if others or not getattr(config, "num_attention_heads", None):
            kind = min(others, default=config.model_type)
            what = f"generating needs keys and values of every token, which `{kind}` does not keep"
            hint = "score with it, or take experts of another family"
            raise UserError(what, where=where, hint=hint)
        self.slots: dict[TokenSequence, int] = {}
        self.filled = np.zeros(0, dtype=np.int64)  # columns of each slot that are read
        # models that find places in the mask or its width take texts one by one
        positional = config.model_type in {"bloom", "mpt", "gpt_neo"}
        self.apart = positional or bool(getattr(config, "alibi", False))
        self._window: int | None = getattr(config, "sliding_window", None)
        if self._kinds == {"full_attention"}:
            self._window = None
        self._dtype, self._device = model.dtype, model.device
        self._kept_bytes = kept_bytes(config, model.dtype)
        self.shape = (0, 0)  # slots and columns there is room for
        self._layers: dict[int, list[Tensor]] = {}  # keys and values of each
        self._start = self._stop = 0  # columns of what comes next, where alike in all slots
        self._rows: Tensor | None = None  # its slots; None: all
        self._tokens: tuple[Tensor, ...] = ()  # where not alike, row and place of each token,
        self._places: tuple[Tensor, ...] = ()  # and its slot and column

    @property
    def bytes(self) -> int:
        """Bytes of keys and values."""
        return sum(state.nbytes for states in self._layers.values() for state in states)

    def bytes_of(self, shape: tuple[int, int]) -> int:
        """Bytes with room for this number of slots and columns."""
        return prod(shape) * self._kept_bytes

    def usual(self, stop: int = 1) -> tuple[int, int]:
        """The room that is taken where there is enough, so that it seldom has to grow.

        stop: tokens that some text is about to have.
        """
        count, most = len(self.slots), max(text.longest for text in self.slots)
        stop = max(stop, int(self.filled[:count].max()))
        columns = max(stop, min(most, max(_ROOM, _doubled(stop))))
        return _doubled(count), columns

    def resize(self, shape: tuple[int, int]) -> None:
        """Make room for this number of slots and columns; what texts have there is kept."""
        if shape == self.shape:
            return
        self.shape, count = shape, min(len(self.slots), shape[0])
        columns = int(self.filled[:count].max())
        for layer, states in self._layers.items():
            for half, state in enumerate(states):
                larger = state.new_zeros(shape[0], state.shape[1], shape[1], state.shape[3])
                kept = min(count, len(state))
                larger[:kept, :, :columns] = state[:kept, :, :columns]
                self._layers[layer][half] = larger

    def slots_of(self, texts: Sequence[TokenSequence]) -> np.ndarray:
        """The slots of texts; those that are new get the next ones."""
        new = [text for text in texts if text not in self.slots]
        for text in new:
            self.slots[text] = len(self.slots)
        if len(self.slots) > len(self.filled):
            larger = np.zeros(max(len(self.slots), 2 * len(self.filled)), dtype=np.int64)
            larger[: len(self.filled)] = self.filled
            self.filled = larger
        for text in new:
            self.filled[self.slots[text]] = 0
        return np.array([self.slots[text] for text in texts])

    def forget(self, text: TokenSequence) -> None:
        """Free a text's slot; the last text moves there."""
        slot = self.slots.pop(text, None)
        last = len(self.slots)
        if slot is None or slot == last:
            return
        moved = next(other for other, place in self.slots.items() if place == last)
        self.slots[moved], filled = slot, int(self.filled[last])
        self.filled[slot] = filled
        for states in self._layers.values():
            for state in states:
                if last < len(state):
                    state[slot, :, :filled] = state[last, :, :filled]

    def turn(
        self, slots: np.ndarray, stops: np.ndarray, width: int
    ) -> Tensor | dict[str, Tensor] | None:
        """What comes next is `width` tokens in these slots; the mask for it, None if none."""
        filled = self.filled[slots]
        self._stop = int(stops.max())
        self._start = self._stop - width
        self._rows = None if len(slots) == len(self.slots) else self._tensor(slots)
        self._tokens = ()
        if (filled == filled[0]).all() and (stops == stops[0]).all():
            return None
        rows, places = np.nonzero(np.arange(width) < (stops - filled)[:, None])
        self._tokens = self._tensor(rows), self._tensor(places)
        self._places = self._tensor(slots[rows]), self._tensor(filled[rows] + places)
        return self._mask(filled, width)

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Keep a layer's new keys and values; returns all that is remembered of these slots."""
        if layer_idx not in self._layers:
            slots, columns = self.shape
            self._layers[layer_idx] = [
                new.new_zeros(slots, new.shape[1], columns, new.shape[3])
                for new in (key_states, value_states)
            ]
        states = self._layers[layer_idx]
        some = slice(len(self.slots)) if self._rows is None else self._rows
        for kept, new in zip(states, (key_states, value_states), strict=True):
            if self._tokens:
                (rows, places), (slots, columns) = self._tokens, self._places
                kept[slots, :, columns] = new[rows, :, places]
            else:
                kept[some, :, self._start : self._stop] = new
        keys, values = (state[:, :, : self._stop] for state in states)
        return keys[some], values[some]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Columns that are remembered of the slots at hand."""
        return self._start

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        """Columns that will be seen, and the first of them."""
        return self._stop, 0

    def _tensor(self, numbers: np.ndarray) -> Tensor:
        return torch.from_numpy(numbers).to(self._device)

    def _mask(self, filled: np.ndarray, width: int) -> Tensor | dict[str, Tensor]:
        places = self._tensor(filled[:, None] + np.arange(width))
        back = places[:, None, :, None] - torch.arange(self._stop, device=self._device)

        def hide(hidden: Tensor) -> Tensor:
            shown = torch.zeros(hidden.shape, dtype=self._dtype, device=self._device)
            return shown.masked_fill_(hidden, torch.finfo(self._dtype).min)

        whole = hide(back < 0)
        if self._window is None:
            return whole
        near = hide((back < 0) | (back >= self._window))
        if len(self._kinds) > 1:
            return {"full_attention": whole, "sliding_attention": near}
        return near


def _doubled(count: int) -> int:
    """The smallest power of two that is not less."""
    return 1 << (count - 1).bit_length()
