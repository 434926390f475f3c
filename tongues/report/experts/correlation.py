"""Rank correlation, and how often chance alone would give as much."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from tongues.randomness import derive_seed

__all__ = ["Correlation", "correlate"]

_FEWEST = 4
_EXACT = 7  # values up to which every order is tried
_DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's ρ of `count` pairs; p: share of random orders with a ρ as far from 0."""

    rho: float
    p: float
    count: int

    def __str__(self) -> str:
        p = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.2g}"
        return f"ρ = {self.rho:+.2f}".replace("-", "−") + f", {p}, {self.count} languages"


def correlate(x: Sequence[float], y: Sequence[float]) -> Correlation | None:
    """Spearman's rank correlation, or None for fewer than four pairs or values all alike."""
    if len(x) < _FEWEST or len(set(x)) < 2 or len(set(y)) < 2:
        return None
    a, b = _standard(x), _standard(y)
    if len(x) <= _EXACT:
        orders = np.array(list(permutations(range(len(x)))))
    else:
        random = np.random.default_rng(derive_seed(0, "rank correlation"))
        orders = random.permuted(np.tile(np.arange(len(x)), (_DRAWS, 1)), axis=1)
    rho = float(a @ b)
    as_far = np.abs(b[orders] @ a) >= abs(rho) - 1e-12
    p = as_far.mean() if len(x) <= _EXACT else (1 + as_far.sum()) / (1 + _DRAWS)
    return Correlation(rho, float(p), len(x))


def _standard(values: Sequence[float]) -> np.ndarray:
    """Ranks, ties sharing their mean, about 0 and of length 1."""
    found = np.asarray(values, dtype=float)
    ranks = (found[:, None] > found).sum(axis=1) + 0.5 * (found[:, None] == found).sum(axis=1)
    ranks = ranks - ranks.mean()
    return ranks / np.linalg.norm(ranks)
