"""Draws from a posterior whose prior is standard normal: from around its mode, by tempering.

Walkers start from a normal about the mode and are brought to the posterior in steps (sequential
Monte Carlo: Del Moral, Doucet and Jasra 2006). Between steps each is moved by differences of others
(ter Braak 2006).
"""

import math
from collections.abc import Callable

import numpy as np

Array = np.ndarray
_KEPT = 0.5  # share of the walkers that count after a step
_HALVINGS = 30
_MOVES = 4  # of every walker between steps
_LAST = 40  # after the last
_LONG = 0.1  # share of moves that are a whole distance between walkers


def sample(
    posterior: Callable[[Array], Array],
    mode: Array,
    covariance: Array,
    count: int,
    random: np.random.Generator,
) -> Array:
    """(count, coordinates) draws.

    posterior: log density, up to a constant, of each row of coordinates.
    mode, covariance: of the normal to start from.
    """
    root = np.linalg.cholesky(covariance)
    x = mode + random.standard_normal((count, len(mode))) @ root.T
    inverse = np.linalg.inv(root)

    def start(x: Array) -> Array:
        return -0.5 * (((x - mode) @ inverse.T) ** 2).sum(-1)

    first, last, weight = start(x), posterior(x), 0.0
    while weight < 1.0:
        gain = last - first
        further = _step(gain, 1.0 - weight)
        weight += further
        share = np.exp(further * (gain - gain.max()))
        places = (np.arange(count) + random.random()) / count
        chosen = np.searchsorted(np.cumsum(share) / share.sum(), places).clip(max=count - 1)
        chosen = random.permutation(chosen)
        x, first, last = x[chosen], first[chosen], last[chosen]
        for _ in range(_LAST if weight >= 1.0 else _MOVES):
            _move(x, first, last, weight, start, posterior, random)
    return x


def _step(gain: Array, most: float) -> float:
    """The largest step after which enough walkers count."""

    def counting(further: float) -> float:
        share = np.exp(further * (gain - gain.max()))
        return float(share.sum() ** 2 / (share**2).sum() / len(share))

    if counting(most) >= _KEPT:
        return most
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if counting(middle) >= _KEPT else (low, middle)
    return max(low, 1e-3 * most)


def _move(
    x: Array,
    first: Array,
    last: Array,
    weight: float,
    start: Callable[[Array], Array],
    posterior: Callable[[Array], Array],
    random: np.random.Generator,
) -> None:
    """Move each half of the walkers by differences between those of the other, in place."""
    half = len(x) // 2
    halves = slice(0, half), slice(half, None)
    for own, other in (halves, halves[::-1]):
        here, there = x[own], x[other]
        pairs = random.integers(0, len(there), (2, len(here)))
        usual = 2.4 / math.sqrt(2.0 * x.shape[1]) * np.exp(-random.exponential(0.5, len(here)))
        stride = np.where(random.random(len(here)) < _LONG, 1.0, usual)
        moved = here + stride[:, None] * (there[pairs[0]] - there[pairs[1]])
        ahead, height = start(moved), posterior(moved)
        gain = (1.0 - weight) * (ahead - first[own]) + weight * (height - last[own])
        taken = np.log(random.random(len(here))) < gain
        x[own] = np.where(taken[:, None], moved, here)
        first[own] = np.where(taken, ahead, first[own])
        last[own] = np.where(taken, height, last[own])
