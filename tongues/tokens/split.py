"""Which groups of documents are held out: chosen by hash, the same in every language."""

from hashlib import blake2b

import numpy as np

__all__ = ["group_hash", "held_out_groups"]


def group_hash(group: str) -> int:
    """A 64-bit number that places a group of documents in an arbitrary, fixed order."""
    return int.from_bytes(blake2b(group.encode(), digest_size=8).digest(), "little")


def held_out_groups(hashes: np.ndarray, tokens: np.ndarray, amount: int) -> np.ndarray:
    """Hashes of the groups that together hold at least `amount` tokens.

    Groups are taken by ascending hash; one with more than `amount` tokens only when the
    smaller ones do not suffice. `hashes` and `tokens` describe the documents of a language.
    """
    groups, group_of = np.unique(hashes, return_inverse=True)
    sizes = np.bincount(group_of, weights=tokens)
    order = np.lexsort((groups, np.maximum(sizes, amount)))
    enough = np.searchsorted(np.cumsum(sizes[order]), amount) + 1
    return groups[order[:enough]]
