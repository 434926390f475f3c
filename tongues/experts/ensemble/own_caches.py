"""Caches of experts that do not all have the ensemble's tokens."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from tongues.experts.ensemble.caches import Caches, TokenSequence
from tongues.experts.ensemble.ensemble import Ensemble
from tongues.experts.ensemble.own_tokens import OwnTokens, widened


@dataclass(slots=True)
class _Reading:
    """A text in the tokens of some experts."""

    sequence: TokenSequence
    ends: list[int]  # of each token of the text, its own tokens up to the token's end


class OwnCaches(Caches):
    """As `Caches`, in the ensemble's tokens, while each expert reads a text in its own.

    Logits have a column more than the vocabulary. Tokens that an expert does not have get no
    probability from it. Where a text is longer in its own tokens than experts see, it continues
    from the last half of what they see.
    """

    def __init__(self, ensemble: Ensemble, limit: int | None = None) -> None:
        super().__init__(ensemble.models, limit)
        self.ensemble = ensemble
        self._texts: dict[TokenSequence, dict[OwnTokens, _Reading]] = {}

    def behind(self, expert: int, text: TokenSequence) -> int:
        """Tokens of the text that the expert has yet to read."""
        reading = self._reading(expert, text)
        if reading is None:
            return super().behind(expert, text)
        own = reading.sequence
        read = len(own.tokens) - super().behind(expert, own)
        return len(text.tokens) - bisect_right(reading.ends, read)

    def logits(self, expert: int, texts: Sequence[TokenSequence]) -> Tensor:
        """Logits [texts, V + 1] for the token behind each, after reading what was missed."""
        readings = [self._reading(expert, text) for text in texts]
        read = [one.sequence if one else text for one, text in zip(readings, texts, strict=True)]
        return self._widened(expert, super().logits(expert, read))

    def read(self, expert: int, text: TokenSequence, stop: int, last: int = 1) -> Tensor:
        """Read a text up to its token `stop`; logits [last, V + 1] behind its last tokens there.

        last: 1 where the expert has tokens of its own.
        """
        reading = self._reading(expert, text)
        if reading is None:
            return self._widened(expert, super().read(expert, text, stop, last))
        assert last == 1, "single columns of an expert's own tokens are not kept apart"
        logits = super().read(expert, reading.sequence, reading.ends[stop - 1])
        return self._widened(expert, logits)

    def forget(self, text: TokenSequence) -> None:
        """Drop all that is remembered of a text."""
        super().forget(text)
        for reading in self._texts.pop(text, {}).values():
            super().forget(reading.sequence)

    def _widened(self, expert: int, logits: Tensor) -> Tensor:
        own, vocabulary = self.ensemble.own.get(expert), self.ensemble.vocabulary
        return widened(logits, own.size if own else vocabulary, vocabulary)

    def _reading(self, expert: int, text: TokenSequence) -> _Reading | None:
        """The text so far in the expert's tokens; None where it has all of the ensemble's."""
        own = self.ensemble.own.get(expert)
        if own is None:
            return None
        readings = self._texts.setdefault(text, {})
        if own not in readings:
            longest = self.ensemble.own_length(text.longest)
            readings[own] = _Reading(TokenSequence([], longest, text.experts), [])
        reading = readings[own]
        ids, ends = own.spelt(np.array(text.tokens[len(reading.ends) :], dtype=np.int64))
        reading.ends += (ends + len(reading.sequence.tokens)).tolist()
        reading.sequence.tokens += ids.tolist()
        context = self.ensemble.context
        if context and len(reading.sequence.tokens) > context:
            super().forget(reading.sequence)
            _shorten(reading, context // 2)
        return reading


def open_caches(ensemble: Ensemble, limit: int | None = None) -> Caches:
    """What remembers texts, with keys and values of at most `limit` bytes; None: any."""
    return OwnCaches(ensemble, limit) if ensemble.own else Caches(ensemble.models, limit)


def _shorten(reading: _Reading, most: int) -> None:
    """Keep the first token and the last ones, `most` in all or one token's."""
    old, ends = reading.sequence, reading.ends
    kept = min(bisect_right(ends, len(old.tokens) - most), len(ends) - 2)  # the last to go
    gone = ends[kept] - 1
    tokens = old.tokens[:1] + old.tokens[ends[kept] :]
    reading.sequence = TokenSequence(tokens, old.longest, old.experts)
    reading.ends = [max(1, end - gone) for end in ends]
