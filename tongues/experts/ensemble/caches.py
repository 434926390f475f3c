"""What experts remember of texts that grow side by side: keys and values, kept where needed.

All texts end at the same column; shorter ones begin later. An expert remembers each text up to a
column of its own, and reads what it missed when it is asked again.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import Cache, PreTrainedModel

from tongues.errors import UserError
from tongues.experts.ensemble.opened import Opened

__all__ = ["Caches"]

_REMEMBERED = {"full_attention", "sliding_attention", "chunked_attention"}


class Caches:
    """The experts' logits for the next token of any of the texts.

    text: token ids [texts, columns], to be filled from the left. starts: the column in which each
    text begins. kept: experts whose memory is held at most, the least recently used dropped; what
    is dropped is read anew when needed. None: all.
    """

    def __init__(
        self, models: Opened, text: Tensor, starts: np.ndarray, kept: int | None = None
    ) -> None:
        self.models, self.text, self.starts, self.kept = models, text, starts, kept
        self.computed = np.zeros(len(text), dtype=np.int64)  # tokens of each text, over all experts
        self._padded = bool(starts.any())
        self._columns = torch.arange(text.shape[1], device=text.device)
        self._starts = torch.from_numpy(starts).to(text.device)
        self._memories: OrderedDict[int, _Memory] = OrderedDict()

    def logits(self, expert: int, rows: np.ndarray, stop: int) -> Tensor:
        """Logits [rows, V] for column `stop` of these texts, from all columns before it."""
        model, memory = self.models[expert], self._memory(expert)
        found: Tensor | None = None
        for places in _alike(stop - memory.filled[rows]):
            some = rows[places]
            part = self._forward(model, memory, some, int(memory.filled[some].min()), stop)
            if len(some) == len(rows):
                return part
            if found is None:
                found = part.new_empty(len(rows), part.shape[1])
            found[torch.from_numpy(places).to(part.device)] = part
        assert found is not None
        return found

    def _memory(self, expert: int) -> "_Memory":
        """The expert's memory, made or made anew if it has none."""
        if expert not in self._memories:
            if self.kept is not None and len(self._memories) >= self.kept:
                self._memories.popitem(last=False)
            _check_remembers(self.models[expert], str(self.models.folders[expert]))
            self._memories[expert] = _Memory(self.text, self.starts)
        self._memories.move_to_end(expert)
        return self._memories[expert]

    def _forward(
        self, model: PreTrainedModel, memory: "_Memory", rows: np.ndarray, start: int, stop: int
    ) -> Tensor:
        """Read columns `start` to `stop` of these texts."""
        everyone = len(rows) == len(self.text)
        which = None if everyone else torch.from_numpy(rows).to(self.text.device)
        memory.turn(which, start, stop)
        tokens, starts = self.text[:, start:stop], self._starts
        if which is not None:
            tokens, starts = tokens[which], starts[which]
        columns = self._columns[:stop]
        places = (columns[None, start:] - starts[:, None]).clamp_(min=0)
        seen = columns >= starts[:, None] if self._padded else None
        logits = model(
            input_ids=tokens,
            attention_mask=seen,
            position_ids=places,
            past_key_values=memory,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        memory.filled[rows] = stop
        self.computed[rows] += stop - start
        return logits.float()


class _Memory(Cache):
    """Keys and values of one expert, by text and column; transformers reads and writes them."""

    def __init__(self, text: Tensor, starts: np.ndarray) -> None:
        super().__init__(layers=[])
        self.filled = starts.copy()  # the column up to which each text is remembered
        self._shape = text.shape
        self._layers: dict[int, tuple[Tensor, Tensor]] = {}
        self._rows: Tensor | None = None
        self._start = self._stop = 0

    def turn(self, rows: Tensor | None, start: int, stop: int) -> None:
        """What comes next is of these columns, and of these texts or all."""
        self._rows, self._start, self._stop = rows, start, stop

    def update(
        self,
        key_states: Tensor,
        value_states: Tensor,
        layer_idx: int,
        *args: Any,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor]:
        """Keep a layer's new keys and values; returns all up to here."""
        if layer_idx not in self._layers:
            self._layers[layer_idx] = (self._room(key_states), self._room(value_states))
        keys, values = self._layers[layer_idx]
        now, so_far = slice(self._start, self._stop), slice(0, self._stop)
        if self._rows is None:
            keys[:, :, now], values[:, :, now] = key_states, value_states
            return keys[:, :, so_far], values[:, :, so_far]
        keys[self._rows, :, now] = key_states
        values[self._rows, :, now] = value_states
        return keys[:, :, so_far][self._rows], values[:, :, so_far][self._rows]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Columns that are remembered of the texts at hand."""
        return self._start

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        """Columns that will be seen, and the first of them."""
        return self._stop, 0

    def _room(self, states: Tensor) -> Tensor:
        """Zeros, so that what was never read is a number, though it is hidden."""
        texts, columns = self._shape
        return states.new_zeros(texts, states.shape[1], columns, states.shape[3])


def _check_remembers(model: PreTrainedModel, where: str) -> None:
    """Refuse a model that remembers other things than keys and values."""
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ()) - _REMEMBERED
    if kinds or not getattr(config, "num_attention_heads", None):
        kind = min(kinds, default=config.model_type)
        what = f"generating needs keys and values of every token, which `{kind}` does not keep"
        raise UserError(what, where=where, hint="score with it, or take experts of another family")


def _alike(missed: np.ndarray) -> Iterator[np.ndarray]:
    """Places of texts of which about as much was missed: what is read of one is of use to all."""
    sizes = np.ceil(np.log2(missed))
    for size in np.unique(sizes):
        yield np.flatnonzero(sizes == size)
