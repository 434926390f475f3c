"""Held-out text shared out: its first half is scored, its second tunes what has to be chosen."""

from collections.abc import Sequence

import numpy as np

__all__ = ["documents_of", "scored_documents", "tuning_documents"]

_FEWEST = 10  # documents; of fewer an interval says little


def scored_documents(bounds: np.ndarray, most: int) -> range:
    """The first documents of a language, up to so many tokens, but ten of them where there are."""
    half = max(1, (len(bounds) - 1) // 2)
    wanted = int(np.searchsorted(bounds, most, side="right")) - 1
    return range(min(half, max(wanted, _FEWEST)))


def tuning_documents(bounds: np.ndarray, most: int) -> range:
    """Documents of the second half, up to so many tokens, one at least."""
    count = len(bounds) - 1
    half = count // 2
    wanted = int(np.searchsorted(bounds, bounds[half] + most, side="right")) - 1
    return range(half, min(count, max(wanted, half + 1)))


def documents_of(
    tokens: np.ndarray, bounds: np.ndarray, numbers: Sequence[int] | np.ndarray
) -> list[np.ndarray]:
    """Documents by their numbers, without the token that ends each; empty ones are left out."""
    found = [np.asarray(tokens[bounds[i] : bounds[i + 1] - 1], dtype=np.int64) for i in numbers]
    return [document for document in found if len(document)]
