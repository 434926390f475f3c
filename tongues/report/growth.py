"""How what CPT saves and transfers goes with compute, tokens and size, a number a pair or size.

Where the source model had a loss before its first step, all is saved there by definition, and
nothing is told of how much.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log10
from statistics import fmean

import numpy as np

from tongues.laws import Saving
from tongues.laws.targets import SETTLED
from tongues.report.findings import Pair
from tongues.report.statistics import Unit, slope

__all__ = ["by_compute", "growth", "has_none", "larger", "larger_saturated"]

_FEWEST = 3  # points of a curve that tell a power


def by_compute(pairs: Sequence[Pair]) -> Iterator[tuple[float, float]]:
    """The log of scratch's compute and the share saved, a point a size.

    Seeds and lengths of a size are not independent of each other.
    """
    sizes: dict[str, list[tuple[float, float]]] = {}
    for pair in pairs:
        if pair.saved is not None:
            point = log10(pair.points[-1].compute_scratch), pair.saved
            sizes.setdefault(pair.cpt.shape, []).append(point)
    for points in sizes.values():
        yield fmean(x for x, _ in points), fmean(y for _, y in points)


def growth(pairs: Sequence[Pair]) -> Iterator[tuple[Unit, float]]:
    """The power of the tokens from scratch by which transferred data grow, past the warm-up.

    Without the losses that the source model had already, where it is 1 by definition; a pair that
    has no others keeps them.
    """
    for pair in pairs:
        if has_none(pair):
            continue
        past = [p for p in _past_warm_up(pair) if pair.saturated or not p.whole]
        points = [(log10(p.tokens_scratch), log10(p.transferred)) for p in past]
        power = slope(points) if len(points) >= _FEWEST else None
        if power:
            yield pair.cpt.unit, power.value


def has_none(pair: Pair) -> bool:
    """Whether nothing was transferred somewhere past the warm-up, so that there is no power."""
    return any(point.transferred <= 0 for point in _past_warm_up(pair))


def _past_warm_up(pair: Pair) -> list[Saving]:
    return [p for p in pair.points if p.tokens_scratch >= SETTLED * pair.scratch.tokens]


def larger(pairs: Sequence[Pair]) -> Iterator[tuple[Unit, float]]:
    """By how much a size transfers more than the next smaller, for ten times the parameters."""
    for unit, factor, small, large in _next_to_each_other(pairs):
        yield unit, (large - small) / log10(factor)


def larger_saturated(pairs: Sequence[Pair]) -> bool:
    """Whether two sizes are compared anywhere that both transfer all there is."""
    return any(small == large == 1.0 for _, _, small, large in _next_to_each_other(pairs))


def _next_to_each_other(pairs: Sequence[Pair]) -> Iterator[tuple[Unit, float, float, float]]:
    """Each size and the next larger: shares transferred, halfway through the smaller.

    There neither has its learning rate down yet; sizes of which the larger is still in its warm-up
    are left out. With the factor between their parameters.
    """
    sized = [pair for pair in pairs if pair.points]
    sizes = sorted({pair.cpt.params for pair in sized})
    for small, large in pairwise(sizes):
        for one in (pair for pair in sized if pair.cpt.params == small):
            others = [p for p in sized if (p.cpt.params, p.cpt.seed) == (large, one.cpt.seed)]
            tokens = 0.5 * one.scratch.tokens
            for other in others:
                if tokens >= SETTLED * other.scratch.tokens:
                    shares = _share_at(one, tokens), _share_at(other, tokens)
                    yield one.cpt.unit, large / small, *shares


def _share_at(pair: Pair, tokens: float) -> float:
    """The share transferred when scratch had seen so many tokens."""
    seen = [point.tokens_scratch for point in pair.points]
    return float(np.interp(tokens, seen, [point.share for point in pair.points]))
