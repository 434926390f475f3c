"""Documents of a shard in batches that fit in memory, all of them or some."""

from collections.abc import Iterator, Mapping

import numpy as np

from tongues.tokens.shards import Shard

__all__ = ["batches", "draw"]

_BATCH = 1_000_000  # tokens; a longer document is a batch of its own


def batches(documents: Shard, numbers: np.ndarray | None = None) -> Iterator[Shard]:
    """The documents of these numbers, or all, in order and in batches."""
    lengths = np.diff(documents.bounds)
    numbers = np.arange(len(lengths)) if numbers is None else numbers
    ends = np.cumsum(lengths[numbers])
    begin = 0
    while begin < len(numbers):
        before = ends[begin] - lengths[numbers[begin]]
        end = max(int(np.searchsorted(ends, before + _BATCH, side="right")), begin + 1)
        bounds = np.concatenate([[0], ends[begin:end] - before])
        yield Shard(_gathered(documents, numbers[begin:end]), bounds)
        begin = end


def draw(sizes: Mapping[str, int], count: int, seed: int) -> dict[str, np.ndarray]:
    """Numbers of up to `count` documents, drawn alike from all languages, in order.

    sizes: the number of documents of each language.
    """
    total = sum(sizes.values())
    random = np.random.default_rng(seed)
    chosen = np.sort(random.permutation(total)[:count]) if count < total else np.arange(total)
    starts = np.cumsum([0, *sizes.values()])
    places = np.searchsorted(chosen, starts)
    return {lang: chosen[places[i] : places[i + 1]] - starts[i] for i, lang in enumerate(sizes)}


def _gathered(documents: Shard, numbers: np.ndarray) -> np.ndarray:
    """The tokens of documents end to end, read in one piece where they lie so."""
    starts, ends = documents.bounds[:-1][numbers], documents.bounds[1:][numbers]
    breaks = np.flatnonzero(starts[1:] != ends[:-1])
    firsts, lasts = starts[np.r_[0, breaks + 1]], ends[np.r_[breaks, len(ends) - 1]]
    pieces = zip(firsts.tolist(), lasts.tolist(), strict=True)
    return np.concatenate([documents.tokens[first:last] for first, last in pieces])
