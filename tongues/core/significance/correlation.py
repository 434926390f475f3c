"""Spearman's rank correlation, with a permutation test."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from tongues.core.randomness import derive_seed

_FEWEST = 4  # pairs: three have 6 orders, so p is at least 1/3
_EXACT = 7  # pairs up to which every order is tried: 5,040, fewer than are drawn of more
_DRAWS = 10_000  # chosen; a p of 0.05 then has a standard error of 0.002


def correlate(x: Sequence[float], y: Sequence[float]) -> tuple[float, float] | None:
    """Spearman's ρ, and the share of random orders with a ρ as far from 0.

    None for fewer than four pairs or values all alike.
    """
    count = len(x)
    if count < _FEWEST or len(set(x)) < 2 or len(set(y)) < 2:
        return None
    values = np.array([x, y], dtype=float)[:, :, None]
    others = values.transpose(0, 2, 1)
    ranks = (values > others).sum(axis=2) + 0.5 * (values == others).sum(axis=2)
    ranks -= ranks.mean(axis=1, keepdims=True)
    a, b = ranks / np.linalg.norm(ranks, axis=1, keepdims=True)
    if exact := count <= _EXACT:
        orders = np.array(list(permutations(range(count))))
    else:
        random = np.random.default_rng(derive_seed(0, "rank correlation"))
        orders = random.permuted(np.tile(np.arange(count), (_DRAWS, 1)), axis=1)
    rho = float(a @ b)
    as_far = np.abs(b[orders] @ a) >= abs(rho) - 1e-12
    return rho, float(as_far.mean() if exact else (1 + as_far.sum()) / (1 + _DRAWS))
