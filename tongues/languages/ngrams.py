"""Cross-entropies of a sample of text by its own n-grams, up to trigrams, in seconds and by numpy.

Units are words, or single characters in scripts that are written without spaces; white space and
punctuation are units too. A word that the first part of the sample does not have is spelled by a
model of its characters. Counts are smoothed as by Witten and Bell (1991).
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tongues.core.errors import UserError

Array = np.ndarray
_UNIT = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]"
    r"[\u0300-\u036f]*|[^\W\d_]+|\s+|\d|[^\w\s]|_"
)
_MOST = 4_000_000  # characters that are enough
_LEAST = 100_000  # bytes; fewer show the size of the sample more than the language
_HELD = 5  # one block of this many is held out
_BLOCKS = 50  # chosen: ten held-out blocks from all over the sample
_SPELLING = 4  # characters that predict the next one, and that one
_END = "\U0010ffff"  # no character
_ODD = np.uint64(0x9E3779B97F4A7C15)  # hashes a context


@dataclass(frozen=True, slots=True)
class NGrams:
    """Bits per byte of held-out text by unigrams, bigrams and trigrams of its units.

    train_bytes: that were counted. reference: measured as in the table behind the forecast, on its
    text, and not by `measure_ngrams`; the table has no trigrams.
    """

    unigram: float
    bigram: float
    trigram: float = math.nan
    train_bytes: float = 0.0
    reference: bool = False


def measure_ngrams(text: str) -> NGrams:
    """The cross-entropies of every fifth of fifty blocks of a text, counts from the others."""
    text = text[:_MOST]
    if (size := len(text.encode())) < _LEAST:
        what = f"a sample of {size:,} bytes is too little for n-grams"
        raise UserError(what, where="sample", hint=f"give {_LEAST // 1000} kB or more")
    ends = np.linspace(0, len(text), _BLOCKS + 1).astype(int)
    blocks = [text[a:b] for a, b in pairwise(ends)]
    held = "".join(blocks[_HELD - 1 :: _HELD])
    counted = "".join(block for i, block in enumerate(blocks) if (i + 1) % _HELD)
    numbers: dict[str, int] = {}
    train = np.array([numbers.setdefault(u, len(numbers)) for u in _UNIT.findall(counted)])
    known = len(numbers)
    test = np.array([numbers.setdefault(u, len(numbers)) for u in _UNIT.findall(held)])
    spelled = _spell(list(numbers), known)[test]
    one, two, three = (
        float(-np.log2(chance).sum()) / len(held.encode())
        for chance in _chances(train.astype(np.uint64), test.astype(np.uint64), 3, spelled)
    )
    return NGrams(one, two, three, float(len(counted.encode())))


def _chances(train: Array, test: Array, orders: int, chance: Array) -> Iterator[Array]:
    """The probability of each unit of `test` by 1, 2, … units, by the counts of `train`.

    chance: of each without counts.
    """
    before = [np.zeros(len(of), np.uint64) for of in (train, test)]  # hashes of the units before
    for back in range(orders):
        if back:
            for context, of in zip(before, (train, test), strict=True):
                context *= _ODD
                context[back:] += of[:-back] + np.uint64(1)
        grams = [
            (context * _ODD + of + np.uint64(7)) * _ODD
            for context, of in zip(before, (train, test), strict=True)
        ]
        known, place, count = np.unique(grams[0][back:], return_index=True, return_counts=True)
        contexts = before[0][back:]
        seen = _counts(known, count, grams[1])
        after = _counts(*np.unique(contexts, return_counts=True), before[1])
        kinds = _counts(*np.unique(contexts[place], return_counts=True), before[1])
        smoothed = (seen + kinds * chance) / np.maximum(after + kinds, 1.0)
        chance = np.where(after > 0, smoothed, chance)
        yield chance


def _spell(words: list[str], known: int) -> Array:
    """The probability of each word by its characters, learned from the first `known` ones."""
    ends = _END * (_SPELLING - 1)  # so that no word is predicted by the one before
    texts = ["".join(word + ends for word in some) for some in (words[:known], words)]
    train, test = (np.frombuffer(t.encode("utf-32-le"), np.uint32).astype(np.uint64) for t in texts)
    *_, chance = _chances(train, test, _SPELLING, np.full(len(test), 1 / len(np.unique(test))))
    word = np.concatenate([[0], np.cumsum(test == ord(_END))[:-1]]) // len(ends)
    return np.exp(np.bincount(word, weights=np.log(chance), minlength=len(words)))


def _counts(values: Array, counts: Array, wanted: Array) -> Array:
    """How often each wanted value was counted."""
    place = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.where(values[place] == wanted, counts[place], 0).astype(float)
