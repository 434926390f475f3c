"""What experts remember of texts that grow side by side: keys and values, kept where needed.

Texts join and leave at any time. An expert remembers each up to a place of its own, and reads what
it missed when it is asked again.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import Cache, PreTrainedModel

from tongues.errors import UserError
from tongues.experts.ensemble.opened import Opened

__all__ = ["Caches", "Reading"]

_REMEMBERED = {"full_attention", "sliding_attention"}
_ROOM = 64  # columns at first


@dataclass(slots=True, eq=False)
class Reading:
    """A text as experts read it; it grows by appending to `tokens`."""

    tokens: list[int]  # from the one that stands before every text on
    computed: int = field(default=0)  # tokens read of it, over all experts


class Caches:
    """The experts' logits for what follows in any of the texts.

    kept: experts whose memory is held at most, the least recently used dropped; what is dropped is
    read anew when needed. None: all.
    """

    def __init__(self, models: Opened, kept: int | None = None) -> None:
        self.models, self.kept = models, kept
        self._memories: OrderedDict[int, _Memory] = OrderedDict()

    @property
    def bytes(self) -> int:
        """Bytes of keys and values that are held."""
        return sum(memory.bytes for memory in self._memories.values())

    def behind(self, expert: int, text: Reading) -> int:
        """Tokens of the text that the expert has yet to read."""
        memory = self._memories.get(expert)
        return len(text.tokens) - (0 if memory is None else memory.read_of(text))

    def logits(self, expert: int, texts: Sequence[Reading]) -> Tensor:
        """Logits [texts, V] for the token behind each, after reading what was missed."""
        model, memory = self.models[expert], self._memory(expert)
        slots = memory.slots_of(texts)
        stops = np.array([len(text.tokens) for text in texts])
        groups = list(_alike(stops - memory.filled[slots], memory.apart))
        if len(groups) == 1 and (slots[1:] > slots[:-1]).all():
            return self._forward(model, memory, texts, slots, stops)
        found: Tensor | None = None
        for group in groups:
            places = group[np.argsort(slots[group])]
            some = [texts[place] for place in places]
            part = self._forward(model, memory, some, slots[places], stops[places])
            if found is None:
                found = part.new_empty(len(texts), part.shape[1])
            found[torch.from_numpy(places).to(part.device)] = part
        assert found is not None
        return found

    def read(self, expert: int, text: Reading, stop: int, told: int = 1) -> Tensor:
        """Read a text up to its token `stop`; logits [told, V] behind its last tokens there."""
        model, memory = self.models[expert], self._memory(expert)
        slots = memory.slots_of([text])
        return self._forward(model, memory, [text], slots, np.array([stop]), told)

    @torch.inference_mode()
    def forget(self, text: Reading) -> None:
        """Let go of all that is remembered of a text."""
        for expert, memory in list(self._memories.items()):
            memory.forget(text)
            if not memory.texts:
                del self._memories[expert]

    def _memory(self, expert: int) -> "_Memory":
        """The expert's memory, made or made anew if it has none."""
        if expert not in self._memories:
            if self.kept is not None and len(self._memories) >= self.kept:
                self._memories.popitem(last=False)
            model = self.models[expert]
            self._memories[expert] = _Memory(model, str(self.models.folders[expert]))
        self._memories.move_to_end(expert)
        return self._memories[expert]

    def _forward(
        self,
        model: PreTrainedModel,
        memory: "_Memory",
        texts: Sequence[Reading],
        slots: np.ndarray,
        stops: np.ndarray,
        told: int = 1,
    ) -> Tensor:
        """Read texts up to their tokens `stops`; logits [texts * told, V] behind their last ones.

        slots: in which they lie, in order. More than one is told only of a text by itself.
        """
        filled = memory.filled[slots]
        width = int((stops - filled).max())
        rows = np.zeros((len(texts), width), dtype=np.int64)
        for row, text, start, stop in zip(rows, texts, filled, stops, strict=True):
            row[: stop - start] = text.tokens[start:stop]
            text.computed += int(stop - start)
        places = np.minimum(filled[:, None] + np.arange(width), stops[:, None] - 1)
        logits = model(
            input_ids=torch.from_numpy(rows).to(model.device),
            attention_mask=memory.turn(slots, stops, width),
            position_ids=torch.from_numpy(places).to(model.device),
            past_key_values=memory,
            use_cache=True,
            logits_to_keep=told if len(texts) == 1 else memory.lasts(stops - filled),
        ).logits
        memory.filled[slots] = stops
        if len(texts) == 1:
            return logits[0].float()
        lasts = np.unique(stops - filled, return_inverse=True)[1]
        return logits[torch.arange(len(texts)), torch.from_numpy(lasts)].float()


class _Memory(Cache):
    """Keys and values of one expert, by slot and column; transformers reads and writes them.

    A text has a slot, and its tokens the columns from 0 on. Slots are kept without gaps, so that
    all texts at once are seen without copying.
    """

    def __init__(self, model: PreTrainedModel, where: str) -> None:
        super().__init__(layers=[])
        config = model.config.get_text_config()
        _check_remembers(config, where)
        self.texts: dict[Reading, int] = {}  # the slot of each
        self.filled = np.zeros(0, dtype=np.int64)  # columns of each slot that are read
        self.apart = _mask_is_read(config)
        self._kinds = set(getattr(config, "layer_types", None) or ())
        self._window: int | None = getattr(config, "sliding_window", None)
        if self._kinds == {"full_attention"}:
            self._window = None
        self._dtype, self._device = model.dtype, model.device
        self._columns = _ROOM
        self._layers: dict[int, tuple[Tensor, Tensor]] = {}
        self._start = self._stop = 0  # columns of what comes next, where alike in all slots
        self._rows: Tensor | None = None  # its slots; None: all
        self._writes: list[tuple[int, int, int]] | None = None  # slots and columns, where not alike
        self._place: tuple[Tensor, Tensor] | None = None  # the same, of one token each

    @property
    def bytes(self) -> int:
        """Bytes of keys and values."""
        return sum(state.nbytes for states in self._layers.values() for state in states)

    def read_of(self, text: Reading) -> int:
        """Tokens of a text that were read."""
        slot = self.texts.get(text)
        return 0 if slot is None else int(self.filled[slot])

    def slots_of(self, texts: Sequence[Reading]) -> np.ndarray:
        """The slots of texts; those that are new get the next ones."""
        new = [text for text in texts if text not in self.texts]
        for text in new:
            self.texts[text] = len(self.texts)
        if len(self.texts) > len(self.filled):
            grown = np.zeros(max(len(self.texts), 2 * len(self.filled)), dtype=np.int64)
            grown[: len(self.filled)] = self.filled
            self.filled = grown
        for text in new:
            self.filled[self.texts[text]] = 0
        return np.array([self.texts[text] for text in texts])

    def forget(self, text: Reading) -> None:
        """Free a text's slot; the last text moves there."""
        slot = self.texts.pop(text, None)
        last = len(self.texts)
        if slot is None or slot == last:
            return
        moved = next(other for other, place in self.texts.items() if place == last)
        self.texts[moved], filled = slot, int(self.filled[last])
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
        self._writes = self._place = None
        rows = torch.from_numpy(slots).to(self._device)
        self._rows = None if len(slots) == len(self.texts) else rows
        if (filled == filled[0]).all() and (stops == stops[0]).all():
            return None
        if width == 1:
            self._place = rows, torch.from_numpy(filled).to(self._device)
        else:
            self._writes = list(zip(slots.tolist(), filled.tolist(), stops.tolist(), strict=True))
        return self._mask(filled, width)

    def lasts(self, missed: np.ndarray) -> Tensor | int:
        """The columns of what is read behind which logits are wanted."""
        found = np.unique(missed) - 1
        return 1 if len(found) == 1 else torch.from_numpy(found).to(self._device)

    def update(
        self,
        key_states: Tensor,
        value_states: Tensor,
        layer_idx: int,
        *args: Any,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor]:
        """Keep a layer's new keys and values; returns all that is remembered of these slots."""
        states = self._room(layer_idx, key_states, value_states)
        rows = slice(len(self.texts)) if self._rows is None else self._rows
        for kept, new in zip(states, (key_states, value_states), strict=True):
            if self._place:
                slots, columns = self._place
                kept[slots, :, columns] = new[:, :, 0]
            elif self._writes:
                for row, (slot, start, stop) in enumerate(self._writes):
                    kept[slot, :, start:stop] = new[row, :, : stop - start]
            else:
                kept[rows, :, self._start : self._stop] = new
        keys, values = (state[:, :, : self._stop] for state in states)
        return keys[rows], values[rows]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Columns that are remembered of the slots at hand."""
        return self._start

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        """Columns that will be seen, and the first of them."""
        return self._stop, 0

    def _mask(self, filled: np.ndarray, width: int) -> Tensor | dict[str, Tensor]:
        """What each token sees: those before it, and itself."""
        places = torch.from_numpy(filled[:, None] + np.arange(width)).to(self._device)
        back = places[:, None, :, None] - torch.arange(self._stop, device=self._device)
        whole = self._hiding(back < 0)
        if self._window is None:
            return whole
        near = self._hiding((back < 0) | (back >= self._window))
        if len(self._kinds) > 1:
            return {"full_attention": whole, "sliding_attention": near}
        return near

    def _hiding(self, hidden: Tensor) -> Tensor:
        lowest = torch.finfo(self._dtype).min
        return torch.zeros(hidden.shape, dtype=self._dtype, device=self._device).masked_fill_(
            hidden, lowest
        )

    def _room(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """A layer's keys and values with room for all slots and columns."""
        while self._columns < self._stop:
            self._columns *= 2
        held = self._layers.get(layer)
        if held is None or len(held[0]) < len(self.texts) or held[0].shape[2] < self._stop:
            slots = len(self.filled)
            held = (
                _grown(held and held[0], keys, slots, self._columns),
                _grown(held and held[1], values, slots, self._columns),
            )
            self._layers[layer] = held
        return held


def _grown(held: Tensor | None, like: Tensor, slots: int, columns: int) -> Tensor:
    """Zeros, so that what was never read is a number, though it is hidden; and what is held."""
    found = like.new_zeros(slots, like.shape[1], columns, like.shape[3])
    if held is not None:
        found[: len(held), :, : held.shape[2]] = held
    return found


def _check_remembers(config: Any, where: str) -> None:
    """Refuse a model that remembers other things than keys and values."""
    kinds = set(getattr(config, "layer_types", None) or ()) - _REMEMBERED
    if kinds or not getattr(config, "num_attention_heads", None):
        kind = min(kinds, default=config.model_type)
        what = f"generating needs keys and values of every token, which `{kind}` does not keep"
        raise UserError(what, where=where, hint="score with it, or take experts of another family")


def _mask_is_read(config: Any) -> bool:
    """Whether a model finds places in the mask or its width, so that texts go one by one."""
    return config.model_type in {"bloom", "mpt", "gpt_neo"} or bool(getattr(config, "alibi", False))


def _alike(missed: np.ndarray, apart: bool) -> Iterator[np.ndarray]:
    """Places of texts of which about as much was missed: what is read of one is of use to all."""
    if apart:
        yield from (np.array([place]) for place in range(len(missed)))
        return
    sizes = np.ceil(np.log2(missed))
    for size in np.unique(sizes):
        yield np.flatnonzero(sizes == size)
