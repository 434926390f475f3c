"""Near copies: signatures of documents, whose equal parts estimate similarity, and their clusters.

A document is the set of its shingles, three units in a row. Its signature is a MinHash: each part
is the smallest hash of some of the shingles. A hash assigns each shingle to a part; further rounds
with other hashes fill the parts that are still empty (Dahlgaard, Knudsen and Thorup, "Fast
similarity sketching", 2017). This is as exact as a minimum over all shingles for every part, in a
small fraction of the time.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tongues.text.signals.units import Units, runs_of_units, scramble, whole_texts

SIGNATURE = 120  # parts
BANDS = 24  # of five parts: at a similarity of 0.8 they miss one pair in 14,000, at 0.7 1.2 %
SHINGLE = 3  # units
_BLOCK = 2048  # texts signed at a time, so that their parts stay in the cache
_EMPTY = np.uint32(2**32 - 1)  # a shingle that draws it counts as none, in every document
_LOOK = 4  # turns between looks at which texts are done, but for the first
_WINDOW = 1000  # shingles, about: two to four pages
_HASH_BITS = np.uint64(40)  # of a shingle; the rest of 64 numbers the windows of a batch
_STEP = np.uint64(0x9E3779B97F4A7C15)
_PAIRS = 200_000  # compared at a time, in 130 MB


@dataclass(frozen=True, slots=True)
class Near:
    """Of each text, its signature, and how much it repeats itself.

    repetition: the share of the shingles that occurred before in a window of about a thousand, so
    that it does not grow with the length of a text.
    """

    signature: np.ndarray  # uint16, SIGNATURE columns
    bands: np.ndarray  # uint32, BANDS columns
    repetition: np.ndarray  # float32


def near_signals(units: Units) -> Near:
    """Signatures, the keys of their bands, and repetition; texts without units match only equals.

    A text shorter than a shingle is one shingle.
    """
    shingles, begins = runs_of_units(units, SHINGLE)
    short = np.flatnonzero(units.counts < SHINGLE)
    if len(short):
        whole = np.zeros(len(units.counts), dtype=np.uint64)
        for length in range(1, SHINGLE):
            whole[units.counts == length] = whole_texts(units, length)
        shingles = np.insert(shingles, begins[short], whole[short])
        begins = begins + np.searchsorted(short, np.arange(len(begins)))
    shingles, owners, repetition = _distinct(shingles, np.diff(begins))
    signature = np.empty((len(begins) - 1, SIGNATURE), dtype=np.uint16)
    for first in range(0, len(signature), _BLOCK):
        rows = signature[first : first + _BLOCK]
        part = slice(*np.searchsorted(owners, (first, first + _BLOCK)))
        rows[:] = _signatures(shingles[part], owners[part] - first, len(rows))
    rows = signature.reshape(len(signature), BANDS, SIGNATURE // BANDS)
    bands = np.zeros(rows.shape[:2], dtype=np.uint64)
    for k in range(rows.shape[2]):
        bands = scramble(bands + rows[:, :, k] + _STEP)
    return Near(signature, bands.astype(np.uint32), repetition)


def _distinct(
    shingles: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The shingles without those that occurred before in a window, their texts, and repetition."""
    windows = np.maximum(np.rint(counts / _WINDOW).astype(np.int64), 1)
    of_window = np.repeat(np.arange(len(counts)), windows)
    places = np.arange(len(shingles)) - np.repeat(np.cumsum(counts) - counts, counts)
    window = places * np.repeat(windows, counts) // np.maximum(np.repeat(counts, counts), 1)
    window += np.repeat(np.cumsum(windows) - windows, counts)
    keyed = (window.astype(np.uint64) << _HASH_BITS) | (shingles >> (np.uint64(64) - _HASH_BITS))
    keyed.sort()
    new = np.ones(len(keyed), dtype=bool)
    new[1:] = keyed[1:] != keyed[:-1]
    kept = keyed[new]
    owners = of_window[(kept >> _HASH_BITS).astype(np.int64)]
    left = np.bincount(owners, minlength=len(counts))
    repetition = (counts - left) / np.maximum(counts, 1)
    return kept & ((np.uint64(1) << _HASH_BITS) - np.uint64(1)), owners, repetition.astype("<f4")


def _signatures(shingles: np.ndarray, owners: np.ndarray, texts: int) -> np.ndarray:
    smallest = np.full(texts * SIGNATURE, _EMPTY)
    steps = np.arange(2 * SIGNATURE, dtype=np.uint64) * _STEP
    for turn, step in enumerate(steps):
        drawn = scramble(shingles + step)
        # enough turns by lot; what is empty even then takes all shingles, one part a turn
        by_high_half = (drawn >> np.uint64(32)) * np.uint64(SIGNATURE) >> np.uint64(32)
        part = by_high_half.astype(np.int64) if turn < SIGNATURE else turn - SIGNATURE
        cells = owners * SIGNATURE + part
        empty = smallest[cells] == _EMPTY
        np.minimum.at(smallest, cells[empty], drawn[empty].astype(np.uint32))
        if turn % _LOOK and turn > _LOOK:
            continue
        unfinished = (smallest.reshape(texts, SIGNATURE) == _EMPTY).any(axis=1)[owners]
        if not unfinished.any():
            break
        shingles, owners = shingles[unfinished], owners[unfinished]
    return smallest.astype(np.uint16).reshape(texts, SIGNATURE)


def clusters(
    count: int,
    band: Callable[[int], np.ndarray],
    signatures: Callable[[np.ndarray], np.ndarray],
    similarities: Sequence[float],
) -> list[np.ndarray]:
    """For each similarity the smallest index of every document's cluster (int64).

    Documents are linked where the similarity estimated from their signatures (Jaccard, of their
    shingles) reaches it, and a cluster is what links hold together. Which documents are together
    does not depend on their order.

    `band` is asked for the keys of all documents in a band (uint32), a few times for each, so that
    two bands need memory at a time; `signatures` for a row for each of some indices.
    """
    labels = [np.arange(count) for _ in similarities]
    strictest = int(np.argmax(similarities))
    digest = np.zeros(count, dtype=np.uint64)  # the same where all bands are
    for number in range(BANDS):
        digest = scramble(digest + band(number) + _STEP)
    keys = band(0)
    for number in range(BANDS):
        next_keys = band((number + 1) % BANDS)
        left, right = _candidates(keys, next_keys, digest)
        keys = next_keys
        apart = labels[strictest][left] != labels[strictest][right]
        left, right = left[apart], right[apart]
        similarity = _similarity(left, right, signatures)
        for label, least in zip(labels, similarities, strict=True):
            linked = similarity >= least
            connect(label, left[linked], right[linked])
    return labels


def connect(labels: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Join, in place, the clusters of the documents that each pair links.

    `labels` holds the smallest index of each document's cluster, before and after.
    """
    while True:
        one, other = labels[left], labels[right]
        apart = one != other
        if not apart.any():
            return
        left, right, one, other = left[apart], right[apart], one[apart], other[apart]
        np.minimum.at(labels, np.maximum(one, other), np.minimum(one, other))
        while (labels != (further := labels[labels])).any():
            labels[:] = further


def _candidates(
    keys: np.ndarray, next_keys: np.ndarray, digest: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs to compare: each document of a bucket with the first and with the one before it.

    The number of pairs grows linearly with a bucket. Documents of a bucket are sorted by the next
    band, then by content, so that duplicates are next to each other.
    """
    order = np.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    adjacent = np.zeros(len(order), dtype=bool)
    adjacent[1:] |= same
    adjacent[:-1] |= same
    shared = order[adjacent]
    shared = shared[np.lexsort((digest[shared], next_keys[shared], keys[shared]))]
    new = np.ones(len(shared), dtype=bool)
    new[1:] = keys[shared[1:]] != keys[shared[:-1]]
    places = np.arange(len(shared))
    first = np.maximum.accumulate(np.where(new, places, 0))
    with_first = places[~new & (first < places - 1)]
    with_last = places[~new]
    left = np.concatenate([shared[first[with_first]], shared[with_last - 1]])
    return left, np.concatenate([shared[with_first], shared[with_last]])


def _similarity(
    left: np.ndarray, right: np.ndarray, signatures: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    shares = np.zeros(len(left))
    # In an order in which those compared together come from few stretches of documents: strips of
    # pairs with a like lesser one, as many as each has batches, are ordered by the greater.
    low, high = np.minimum(left, right), np.maximum(left, right)
    order = np.argsort(low, kind="stable")
    strip = _PAIRS * math.ceil(math.sqrt(len(order) / _PAIRS))
    for start in range(0, len(order), strip or 1):
        inside = order[start : start + strip]
        order[start : start + strip] = inside[np.argsort(high[inside], kind="stable")]
    for start in range(0, len(order), _PAIRS):
        pairs = order[start : start + _PAIRS]
        rows = signatures(np.concatenate([left[pairs], right[pairs]]))
        shares[pairs] = (rows[: len(pairs)] == rows[len(pairs) :]).mean(axis=1)
    return shares
