"""Documents as rows of terms, which are tokens: in batches, counted, weighted, projected."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tongues.tokens.frame import TextFrame
from tongues.tokens.shards import Shard

__all__ = [
    "Sparse",
    "batches",
    "count_terms",
    "draw_documents",
    "inverse_frequencies",
    "principal_directions",
    "stack_rows",
    "sums_of_rows",
    "times",
    "weigh",
]

_BATCH = 1_000_000  # tokens; a longer document is a batch of its own
_EXTRA = 10  # more directions, for accuracy
_TURNS = 3  # times that the directions are turned towards the largest


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


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """Rows with few entries: row i has its entries from `starts[i]` to `starts[i + 1]`."""

    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray  # float32
    width: int

    @property
    def rows(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def count_terms(documents: Shard, width: int) -> Sparse:
    """How often each of `width` terms occurs in each document."""
    count = len(documents.bounds) - 1
    owner = np.repeat(np.arange(count), np.diff(documents.bounds))
    entries, counts = np.unique(owner * width + documents.tokens, return_counts=True)
    rows, columns = np.divmod(entries, width)
    starts = np.searchsorted(rows, np.arange(count + 1))
    return Sparse(starts, columns, counts.astype(np.float32), width)


def stack_rows(parts: Sequence[Sparse]) -> Sparse:
    """The rows of several matrices of one width, one below the other."""
    lengths = np.concatenate([np.diff(part.starts) for part in parts])
    columns = np.concatenate([part.columns for part in parts])
    values = np.concatenate([part.values for part in parts])
    return Sparse(np.concatenate([[0], np.cumsum(lengths)]), columns, values, parts[0].width)


def inverse_frequencies(counts: Sparse, frame: TextFrame) -> np.ndarray:
    """What each term counts: more, the fewer documents it occurs in; 0 for the frame."""
    documents = len(counts.starts) - 1
    occurrences = np.bincount(counts.columns, minlength=counts.width)
    weights = np.log((1 + documents) / (1 + occurrences)) + 1
    weights[[frame.first, frame.end]] = 0
    return weights.astype(np.float32)


def weigh(counts: Sparse, weights: np.ndarray) -> Sparse:
    """Counts times the terms' weights, every row of length 1."""
    values, rows = counts.values * weights[counts.columns], counts.rows
    lengths = np.sqrt(np.bincount(rows, values.astype(np.float64) ** 2, len(counts.starts) - 1))
    return replace(counts, values=(values / np.maximum(lengths, 1e-30)[rows]).astype(np.float32))


def times(matrix: Sparse, dense: np.ndarray) -> np.ndarray:
    """The product with a dense matrix of `width` rows."""
    return sums_of_rows(dense, matrix.columns, matrix.values, matrix.starts)


def sums_of_rows(
    table: np.ndarray, numbers: np.ndarray, values: np.ndarray, starts: np.ndarray
) -> np.ndarray:
    """Weighted sums of a table's rows: the i-th from `starts[i]` to `starts[i + 1]`."""
    import torch

    return torch.nn.functional.embedding_bag(
        torch.from_numpy(np.ascontiguousarray(numbers, np.int64)),
        torch.from_numpy(np.ascontiguousarray(table, np.float32)),
        torch.from_numpy(np.ascontiguousarray(starts, np.int64)),
        mode="sum",
        per_sample_weights=torch.from_numpy(np.ascontiguousarray(values, np.float32)),
        include_last_offset=True,
    ).numpy()


def principal_directions(matrix: Sparse, count: int, seed: int) -> np.ndarray:
    """The leading right singular vectors, as (width, count), by random projection.

    There are fewer when the matrix has fewer rows, or fewer columns that are not empty.
    """
    used, columns = np.unique(matrix.columns, return_inverse=True)
    narrow = replace(matrix, columns=columns, width=len(used))
    order = np.argsort(columns, kind="stable")
    starts = np.searchsorted(columns[order], np.arange(len(used) + 1))
    height = len(matrix.starts) - 1
    transposed = Sparse(starts, narrow.rows[order], narrow.values[order], height)
    random = np.random.default_rng(seed)
    most = min(count + _EXTRA, height, len(used))
    across = random.standard_normal((len(used), most), np.float32)
    for _ in range(_TURNS):
        down = np.linalg.qr(times(narrow, across))[0]
        across = np.linalg.qr(times(transposed, down))[0]
    _, _, turned = np.linalg.svd(times(narrow, across), full_matrices=False)
    vectors = across @ turned[:count].T
    largest = np.abs(vectors).argmax(axis=0)
    directions = np.zeros((matrix.width, vectors.shape[1]), np.float32)
    directions[used] = vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return directions
