"""Rows with few entries, such as how often each term occurs in a document."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tongues.tokens.shards import Shard

__all__ = ["Sparse", "count_rows", "join", "principal_directions", "sums_of_rows", "times"]

_EXTRA = 10  # directions kept besides, for exactness
_TURNS = 3  # times that the directions are turned towards the largest


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """Rows end to end: row i has its entries from `starts[i]` to `starts[i + 1]`."""

    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray  # float32
    width: int

    @property
    def rows(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def count_rows(documents: Shard, width: int) -> Sparse:
    """How often each of `width` terms occurs in each document."""
    count = len(documents.bounds) - 1
    owner = np.repeat(np.arange(count), np.diff(documents.bounds))
    entries, counts = np.unique(owner * width + documents.tokens, return_counts=True)
    rows, columns = np.divmod(entries, width)
    starts = np.searchsorted(rows, np.arange(count + 1))
    return Sparse(starts, columns, counts.astype(np.float32), width)


def join(parts: Sequence[Sparse]) -> Sparse:
    """The rows of several matrices of one width, one below the other."""
    lengths = np.concatenate([np.diff(part.starts) for part in parts])
    return Sparse(
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([part.columns for part in parts]),
        np.concatenate([part.values for part in parts]),
        parts[0].width,
    )


def times(matrix: Sparse, dense: np.ndarray) -> np.ndarray:
    """The product with a dense matrix of `width` rows."""
    return sums_of_rows(dense, matrix.columns, matrix.values, matrix.starts)


def sums_of_rows(
    table: np.ndarray, numbers: np.ndarray, values: np.ndarray, starts: np.ndarray
) -> np.ndarray:
    """Weighted sums of a table's rows: the i-th from `starts[i]` to `starts[i + 1]`."""
    import torch

    sums = torch.nn.functional.embedding_bag(
        torch.from_numpy(np.ascontiguousarray(numbers, np.int64)),
        torch.from_numpy(np.ascontiguousarray(table, np.float32)),
        torch.from_numpy(np.ascontiguousarray(starts, np.int64)),
        mode="sum",
        per_sample_weights=torch.from_numpy(np.ascontiguousarray(values, np.float32)),
        include_last_offset=True,
    )
    return sums.numpy()


def principal_directions(matrix: Sparse, count: int, seed: int) -> np.ndarray:
    """The leading right singular vectors, as (width, count), by random projection.

    There are fewer when the matrix has fewer rows, or fewer columns that are not empty.
    """
    used, columns = np.unique(matrix.columns, return_inverse=True)
    narrow = Sparse(matrix.starts, columns, matrix.values, len(used))
    transposed = _transposed(narrow)
    most = min(transposed.width, narrow.width)
    random = np.random.default_rng(seed)
    across = random.standard_normal((len(used), min(count + _EXTRA, most)), np.float32)
    for _ in range(_TURNS):
        down = np.linalg.qr(times(narrow, across))[0]
        across = np.linalg.qr(times(transposed, down))[0]
    _, _, turned = np.linalg.svd(times(narrow, across), full_matrices=False)
    found = across @ turned[:count].T
    largest = np.abs(found).argmax(axis=0)
    directions = np.zeros((matrix.width, found.shape[1]), np.float32)
    directions[used] = found * np.sign(found[largest, np.arange(found.shape[1])])
    return directions


def _transposed(matrix: Sparse) -> Sparse:
    order = np.argsort(matrix.columns, kind="stable")
    starts = np.searchsorted(matrix.columns[order], np.arange(matrix.width + 1))
    return Sparse(starts, matrix.rows[order], matrix.values[order], len(matrix.starts) - 1)
