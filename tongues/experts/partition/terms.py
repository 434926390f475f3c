"""Documents as rows of terms, which are tokens: drawn, read in batches, and counted."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from tongues.text.tokens.frame import TextFrame
from tongues.text.tokens.shards import Shard

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


_BATCH = 1_000_000  # tokens; a longer document is a batch of its own


def batches(documents: Shard, numbers: np.ndarray | None = None) -> Iterator[Shard]:
    """The documents of these numbers, or all, in order and in batches that fit in memory."""
    lengths = np.diff(documents.bounds)
    numbers = np.arange(len(lengths)) if numbers is None else numbers
    ends = np.cumsum(lengths[numbers])
    begin = 0
    while begin < len(numbers):
        before = ends[begin] - lengths[numbers[begin]]
        end = max(int(np.searchsorted(ends, before + _BATCH, side="right")), begin + 1)
        # documents next to each other are read at once
        starts, stops = (documents.bounds[numbers[begin:end] + i] for i in (0, 1))
        breaks = np.flatnonzero(starts[1:] != stops[:-1])
        firsts, lasts = starts[np.r_[0, breaks + 1]], stops[np.r_[breaks, len(stops) - 1]]
        runs = zip(firsts.tolist(), lasts.tolist(), strict=True)
        tokens = np.concatenate([documents.tokens[first:last] for first, last in runs])
        yield Shard(tokens, np.concatenate([[0], ends[begin:end] - before]))
        begin = end


def draw_documents(sizes: Mapping[str, int], count: int, seed: int) -> dict[str, np.ndarray]:
    """Numbers of up to `count` documents, drawn alike from all languages, in order.

    sizes: the number of documents of each language.
    """
    total = sum(sizes.values())
    random = np.random.default_rng(seed)
    chosen = np.sort(random.permutation(total)[:count]) if count < total else np.arange(total)
    starts = np.cumsum([0, *sizes.values()])
    places = np.searchsorted(chosen, starts)
    return {lang: chosen[places[i] : places[i + 1]] - starts[i] for i, lang in enumerate(sizes)}


def term_counts(documents: Shard, width: int, frame: TextFrame) -> "csr_matrix":
    """How often each of `width` terms occurs in each document; tokens of the frame do not count."""
    from scipy.sparse import csr_matrix

    tokens = documents.tokens.astype(np.int32)
    counted = ((tokens != frame.first) & (tokens != frame.end)).astype(np.float32)
    counts = csr_matrix((counted, tokens, documents.bounds), (len(documents.bounds) - 1, width))
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts
