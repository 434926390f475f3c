"""Cross-entropies of a sample of text by its own n-grams, up to trigrams, in seconds and by numpy.

Units are words, or single characters in scripts that are written without spaces; white space and
punctuation are units too. A word that the first part of the sample does not have is spelled by a
model of its characters. Counts are smoothed as by Witten and Bell (1991).
"""

import math
import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tongues.errors import UserError

Array = np.ndarray
_UNIT = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]"
    r"[\u0300-\u036f]*|[^\W\d_]+|\s+|\d|[^\w\s]|_"
)
_MOST = 4_000_000  # characters that are enough
_LEAST = 100_000  # bytes; fewer show the size of the sample more than the language
_HELD = 5  # one block of this many is held out
_BLOCKS = 50
_SPELLING = 4  # characters that predict the next one, and that one
_END = "\U0010ffff"  # no character
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class NGrams:
    """Bits per byte of held-out text by unigrams, bigrams and trigrams of its units.

    train_bytes: that were counted. reference: measured as in the table behind the prior, on its
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
    vocabulary: dict[str, int] = {}
    train = np.array([vocabulary.setdefault(u, len(vocabulary)) for u in _UNIT.findall(counted)])
    known = len(vocabulary)
    test = np.array([vocabulary.setdefault(u, len(vocabulary)) for u in _UNIT.findall(held)])
    types = len(vocabulary)
    spelled = _spell(list(vocabulary), known)
    chance = ((np.bincount(train, minlength=types) + known * spelled) / (len(train) + known))[test]
    bits = [-np.log2(chance).sum()]
    context, word = (train, test), (train, test)
    for _ in range(2):
        context, word = [of[:-1] for of in context], [of[1:] for of in word]
        grams = [c * types + w for c, w in zip(context, word, strict=True)]
        chance = _interpolate(grams, context, types, chance[1:])
        bits.append(-np.log2(chance).sum())
        counted_grams = np.unique(grams[0])
        context = [_numbers(counted_grams, of) for of in grams]
    size = len(held.encode())
    one, two, three = (float(of) / size for of in bits)
    return NGrams(one, two, three, float(len(counted.encode())))


def _interpolate(grams: list[Array], context: list[Array], types: int, lower: Array) -> Array:
    """The chance of each gram of the second text by the counts of the first, and a lower order."""
    pairs, first = np.unique(grams[0], return_counts=True)
    most, after_of = max(int(of.max()) for of in context) + 1, context[1]
    after = np.bincount(context[0], minlength=most)[after_of]
    kinds = np.bincount(pairs // types, minlength=most)[after_of]
    seen = _counts(pairs, first, grams[1])
    return np.where(after > 0, (seen + kinds * lower) / np.maximum(after + kinds, 1), lower)


def _numbers(known: Array, wanted: Array) -> Array:
    """The place of each value among those that are known, one past the end for all others."""
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[place] == wanted, place, len(known))


def _spell(words: list[str], known: int) -> Array:
    """The probability of each word by its characters, learned from the first `known` ones."""
    ends = _END * (_SPELLING - 1)  # so that no word is predicted by the one before
    texts = ["".join(word + ends for word in some) for some in (words[:known], words)]
    train, test = (np.frombuffer(t.encode("utf-32-le"), np.uint32).astype(np.uint64) for t in texts)
    chance = np.full(len(test), 1.0 / len(np.unique(test)))
    before = [np.zeros(len(of), np.uint64) for of in (train, test)]
    for order in range(1, _SPELLING + 1):
        if back := order - 1:
            for context, of in zip(before, (train, test), strict=True):
                context *= _ODD
                context[back:] += of[:-back] + np.uint64(1)
        whole = [
            (c * _ODD + of + np.uint64(7)) * _ODD
            for c, of in zip(before, (train, test), strict=True)
        ]
        grams, place, count = np.unique(whole[0][back:], return_index=True, return_counts=True)
        contexts = before[0][back:]
        seen = _counts(grams, count, whole[1])
        after = _counts(*np.unique(contexts, return_counts=True), before[1])
        kinds = _counts(*np.unique(contexts[place], return_counts=True), before[1])
        chance = np.where(
            after > 0, (seen + kinds * chance) / np.maximum(after + kinds, 1.0), chance
        )
    word = np.concatenate([[0], np.cumsum(test == ord(_END))[:-1]]) // len(ends)
    return np.exp(np.bincount(word, weights=np.log(chance), minlength=len(words)))


def _counts(values: Array, counts: Array, wanted: Array) -> Array:
    """How often each wanted value was counted."""
    place = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.where(values[place] == wanted, counts[place], 0).astype(float)
