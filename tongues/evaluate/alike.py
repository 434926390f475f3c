"""Which rows of tokens begin alike, and which are of about one length."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np

__all__ = ["Family", "Row", "common_beginnings", "families_of", "in_batches"]

_LEAST = 16  # tokens of a beginning that families have in common, or it is no matter
_PADDING = 8  # tokens of a row that cost less than a batch of its own

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Tokens of which those from `start` on are scored."""

    tokens: np.ndarray
    start: int  # at least 1: a token with nothing before it cannot be scored
    language: str | None
    family: int  # rows of one number share a context


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Rows that begin alike."""

    rows: tuple[int, ...]
    shared: int  # tokens that all of them begin with and that none of them needs a score of
    beginning: np.ndarray


def families_of(rows: Sequence[Row], numbers: Sequence[int]) -> list[Family]:
    """The families of the rows with these numbers."""
    members: dict[int, list[int]] = {}
    for number in numbers:
        members.setdefault(rows[number].family, []).append(number)
    found = []
    for own in members.values():
        first = rows[own[0]].tokens
        shared = min(rows[number].start for number in own) - 1
        for number in own[1:]:
            shared = min(shared, _alike(first, rows[number].tokens))
        found.append(Family(tuple(own), shared, first[:shared]))
    return found


def common_beginnings(families: Sequence[Family]) -> Iterator[tuple[int, list[Family]]]:
    """Families in groups, each with the number of tokens that all of its members begin with.

    So divided that most tokens are read once: families come in the order of their beginnings, and
    are parted where neighbours have fewer than so many tokens in common. Those that have too few in
    common with others come last, with 0.
    """
    ordered = sorted(families, key=lambda family: family.beginning.astype(">u4").tobytes())
    pairs = pairwise(ordered)
    alike = np.array([_alike(one.beginning, other.beginning) for one, other in pairs], dtype=int)
    cuts = np.flatnonzero(alike < _threshold(alike))
    left: list[Family] = []
    bounds = [0, *(cuts + 1).tolist(), len(ordered)]
    for begin, end in pairwise(bounds):
        if end - begin == 1:
            left.append(ordered[begin])
        else:
            yield int(alike[begin : end - 1].min()), ordered[begin:end]
    if left:
        yield 0, left


def in_batches(
    things: Sequence[T], length: Callable[[T], int], fits: Callable[[int, int], bool]
) -> Iterator[list[T]]:
    """Things of like lengths together, the longest first, as many as fit; one at least.

    fits: says so of the longest one's length and the number of things.
    """
    batch: list[T] = []
    longest = 0
    for thing in sorted(things, key=length, reverse=True):
        own = length(thing)
        if batch and (
            longest - own > max(_PADDING, longest // 8) or not fits(longest, len(batch) + 1)
        ):
            yield batch
            batch = []
        longest = longest if batch else own
        batch.append(thing)
    if batch:
        yield batch


def _threshold(alike: np.ndarray) -> int:
    """Tokens that neighbours need in common to stay together, so that most are read once."""
    best, found = 0, int(alike.max(initial=0)) + 1
    for threshold in np.unique(alike[alike >= _LEAST]).tolist():
        together = np.flatnonzero(np.diff(np.concatenate([[0], alike >= threshold, [0]])))
        saved = 0
        for begin, end in together.reshape(-1, 2).tolist():
            saved += int(alike[begin:end].min()) * (end - begin)
        if saved > best:
            best, found = saved, threshold
    return found


def _alike(one: np.ndarray, other: np.ndarray) -> int:
    """Tokens that both begin with."""
    count = min(len(one), len(other))
    differ = one[:count] != other[:count]
    return int(differ.argmax()) if differ.any() else count
