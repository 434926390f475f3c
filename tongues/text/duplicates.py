"""Which documents are near duplicates of each other, from the signals of all of them."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from tongues.text.signals.near import BANDS
from tongues.text.signals.units import scramble

_PAIRS = 200_000  # compared at a time, in 130 MB
_STEP = np.uint64(0x9E3779B97F4A7C15)


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
