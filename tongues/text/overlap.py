"""Held-out documents contained in training documents, and the reverse, by runs of words.

Near copies are alike as a whole; a short document inside a long one is found only here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tongues.text.corpus import Corpus, Part, stretches
from tongues.text.signals.units import runs_of_units, units

_LENGTH = 13  # units in a row; contamination is usually counted by them (Brown et al., 2020)
_CONTAINED = 0.4  # share of a document's runs; below a half, as other ways to cut words differ
_OWNERS = 256  # held-out documents that are compared for one run, at most
_BATCH = 1_000_000  # characters
_MOST = 32_000_000  # bytes of held-out text of a language whose runs are all searched for
_SIEVE = np.uint64(64 - 22)


@dataclass(frozen=True, slots=True, eq=False)
class _Passages:
    """The runs of a language's held-out documents."""

    documents: np.ndarray  # their numbers in the corpus
    runs: np.ndarray  # uint64, sorted, once for each document
    owners: np.ndarray  # index into `documents`
    counts: np.ndarray  # runs of each document
    sieve: np.ndarray  # bool, by first bits: whether there may be such a run
    step: np.uint64  # runs divisible by it count


def overlapping(corpus: Corpus, lang: str, held_out: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Pairs [n, 2] of a held-out and a training document of a language.

    One of the two contains 40 % of the other's runs of 13 words, or more. held_out, train: whether
    each document of the corpus is.
    """
    parts = [part for part in corpus.parts if part.lang == lang]
    passages, pairs = _index(corpus, parts, held_out), [np.empty((0, 2), np.int64)]
    for numbers, texts in _texts(corpus, parts, train) if len(passages.runs) else ():
        text, held = _matches(passages, texts)
        pairs.append(np.stack([passages.documents[held], numbers[text]], axis=1))
    return np.concatenate(pairs)


def _index(corpus: Corpus, parts: Sequence[Part], held_out: np.ndarray) -> _Passages:
    sizes = corpus.sizes
    inside = np.zeros(corpus.count, dtype=bool)
    for part in parts:
        inside[part.first : part.first + part.count] = True
    size = int(sizes[held_out & inside].sum(dtype=np.int64))
    step = np.uint64(size // _MOST + 1)
    documents, runs, owners = [np.empty(0, np.int64)], [np.empty(0, np.uint64)], []
    count = 0
    for numbers, texts in _texts(corpus, parts, held_out):
        run, owner, _ = _runs(texts, step)
        once = _once(run, owner)
        documents.append(numbers)
        runs.append(run[once])
        owners.append(owner[once] + count)
        count += len(numbers)
    every, owned = np.concatenate(runs), np.concatenate([np.empty(0, np.int64), *owners])
    order = np.argsort(every, kind="stable")
    sieve = np.zeros(1 << (64 - int(_SIEVE)), dtype=bool)
    sieve[every >> _SIEVE] = True
    counts = np.bincount(owned, minlength=count)
    return _Passages(np.concatenate(documents), every[order], owned[order], counts, sieve, step)


def _matches(passages: _Passages, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Indices of texts and of held-out documents that hold much of each other."""
    runs, owners, begins = _runs(texts, passages.step)
    may = np.flatnonzero(passages.sieve[runs >> _SIEVE])
    low = np.searchsorted(passages.runs, runs[may])
    there = low < len(passages.runs)
    there[there] = passages.runs[low[there]] == runs[may[there]]
    may, low = may[there], low[there]
    once = _once(runs[may], owners[may])
    may, low = may[once], low[once]
    count = np.searchsorted(passages.runs, runs[may], side="right") - low
    count = np.minimum(count, _OWNERS)
    place = np.repeat(low - (np.cumsum(count) - count), count) + np.arange(count.sum())
    width = max(len(passages.documents), 1)
    keys = np.repeat(owners[may], count) * width + passages.owners[place]
    pairs, shared = np.unique(keys, return_counts=True)
    text, held = pairs // width, pairs % width
    distinct = {
        int(each): len(np.unique(runs[begins[each] : begins[each + 1]])) for each in np.unique(text)
    }
    own = np.array([distinct[each] for each in text.tolist()], dtype=np.int64)
    much = shared >= _CONTAINED * np.minimum(own, passages.counts[held])
    return text[much], held[much]


def _runs(texts: Sequence[str], step: np.uint64) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The runs of texts, the text of each, and where those of each text begin."""
    runs, begins = runs_of_units(units(texts), _LENGTH)
    owners = np.repeat(np.arange(len(texts)), np.diff(begins))
    if step > 1:
        chosen = runs % step == 0
        runs, owners = runs[chosen], owners[chosen]
        begins = np.searchsorted(owners, np.arange(len(texts) + 1))
    return runs, owners, begins


def _once(runs: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Indices of the first of each run of each text."""
    order = np.lexsort((runs, owners))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(runs[order]) != 0) | (np.diff(owners[order]) != 0)
    return order[new]


def _texts(
    corpus: Corpus, parts: Sequence[Part], chosen: np.ndarray
) -> Iterator[tuple[np.ndarray, list[str]]]:
    """The numbers and texts of chosen documents, about a million characters at a time."""
    for part in parts:
        rows = np.flatnonzero(chosen[part.first : part.first + part.count])
        texts = corpus.texts(part, rows) if len(rows) else []
        for stretch in stretches(texts, _BATCH):
            yield part.first + rows[stretch], texts[stretch]
