"""The deal: which window of which language every sample of a run is.

It is a pure function of the sample's number, so a run resumes anywhere from its step alone,
and a larger budget begins with the samples of a smaller one. Where shares change on the way, it is
one of the number and of the changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from tongues.errors import UserError, nearest
from tongues.randomness import derive_seed
from tongues.text.signals.units import scramble

__all__ = ["Course", "Mixture", "Stage"]

_LONGEST_PERIOD = 2**16
_ROUNDS = 4
_BLOCK = 4096  # samples
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Mixture:
    """Samples of `context` + 1 tokens from several languages.

    Parameters
    ----------
    sources: the training tokens of each language, one-dimensional.
    shares: share of the samples of each language that is dealt; adds up to 1. At any time
        the samples dealt of a language are less than one off its share. (Shares are whole
        numbers of a period of up to 65,536 samples, which is exact for 5% and for a third.)
    context: tokens that a sample predicts; windows overlap by the one token between them.
    seed: orders the windows, anew in each epoch.
    before: samples of a language that were dealt before the first; none where it is not named.
    """

    sources: Mapping[str, np.ndarray]
    shares: Mapping[str, float]
    context: int
    seed: int
    before: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for lang, share in self.shares.items():
            if lang not in self.sources:
                raise UserError(f"no tokens of `{lang}`", hint=nearest(lang, self.sources))
            if share < 0:
                raise UserError(f"the share of `{lang}` is negative")
            if share > 0 and len(self.sources[lang]) <= self.context:
                count = len(self.sources[lang])
                reason = f"{count} tokens of `{lang}` are no window of {self.context} + 1"
                raise UserError(reason, hint="give it more text or lower the context")
        total = sum(self.shares.values())
        if abs(total - 1) > 1e-5:
            raise UserError(f"the shares add up to {total:.6g}, not 1")

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages that are dealt, sorted."""
        return tuple(sorted(lang for lang, share in self.shares.items() if share > 0))

    def batch(self, step: int, samples: int) -> np.ndarray:
        """The tokens of a step, counted from 0: int64 of shape [samples, context + 1]."""
        source, window = self._places(step * samples, samples)
        tokens = np.empty((samples, self.context + 1), dtype=np.int64)
        for number, view in enumerate(self._views):
            chosen = source == number
            tokens[chosen] = view[window[chosen]]
        return tokens

    def _places(self, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Source and window of `count` samples; small batches are located many at a time."""
        block, begin = divmod(first, _BLOCK)
        if begin + count > _BLOCK:
            source, _, window = self.locate(np.arange(first, first + count))
            return source, window
        if block not in self._located:
            source, _, window = self.locate(np.arange(block * _BLOCK, (block + 1) * _BLOCK))
            self._located.clear()
            self._located[block] = source, window
        source, window = self._located[block]
        return source[begin : begin + count], window[begin : begin + count]

    def locate(self, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Source (index into `languages`), epoch and window of samples by their numbers."""
        order, rank, per_period = self._period
        place = samples % len(order)
        source = order[place]
        drawn = samples // len(order) * per_period[source] + rank[place] + self._before[source]
        windows = self._windows[source]
        epoch, position = np.divmod(drawn, windows)
        keys = scramble(self._keys[source] + epoch.astype(np.uint64) * _GOLDEN)
        window = _permute(position, windows, keys)
        return source, epoch, window

    def dealt(self, samples: int) -> dict[str, int]:
        """How many of the first `samples` samples are of each language."""
        order, _, per_period = self._period
        periods, rest = divmod(samples, len(order))
        counts = periods * per_period + np.bincount(order[:rest], minlength=len(per_period))
        return dict(zip(self.languages, counts.tolist(), strict=True))

    def epochs(self, samples: int) -> dict[str, float]:
        """How often each language's text is seen by the first `samples` samples."""
        return self.passes(self.dealt(samples))

    def passes(self, dealt: Mapping[str, int]) -> dict[str, float]:
        """How often each language's text is seen by so many samples of it."""
        windows = zip(self.languages, self._windows.tolist(), strict=True)
        return {lang: dealt[lang] / count for lang, count in windows}

    @cached_property
    def _located(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        return {}  # the block of samples that was located last, by its number

    @cached_property
    def _views(self) -> list[np.ndarray]:
        """The windows of each language as rows, without copying."""
        view = np.lib.stride_tricks.sliding_window_view
        return [
            view(self.sources[lang], self.context + 1)[:: self.context] for lang in self.languages
        ]

    @cached_property
    def _windows(self) -> np.ndarray:
        return np.array([len(view) for view in self._views])

    @cached_property
    def _before(self) -> np.ndarray:
        return np.array([self.before.get(lang, 0) for lang in self.languages])

    @cached_property
    def _keys(self) -> np.ndarray:
        seeds = [derive_seed(self.seed, lang) for lang in self.languages]
        return np.array(seeds, dtype=np.uint64)

    @cached_property
    def _period(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The recurring order of sources, each one's rank among its own, samples per period."""
        return _period_of(tuple(self.shares[lang] for lang in self.languages))


@dataclass(frozen=True, slots=True)
class Stage:
    """Shares by language that hold from a batch on, counted from 0."""

    batch: int
    shares: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Course:
    """A mixture's batches where its shares change on the way.

    Each language's windows go on where the stage before left them: none is dealt twice before all
    of them were.

    mixture: what is dealt until the first stage. stages: by rising batch; several of one batch
        stand for the last of them. samples: of a batch.
    """

    mixture: Mixture
    stages: Sequence[Stage]
    samples: int

    def batch(self, number: int) -> np.ndarray:
        """The tokens of a batch, counted from 0: int64 of shape [samples, context + 1]."""
        begun, mixture = self._at(number)
        return mixture.batch(number - begun, self.samples)

    def shares(self, number: int) -> Mapping[str, float]:
        """The shares of a batch."""
        return self._at(number)[1].shares

    def dealt(self, batches: int) -> dict[str, int]:
        """How many samples of the first `batches` batches are of each language."""
        begun, mixture = self._at(batches)
        return _together(mixture.before, mixture.dealt((batches - begun) * self.samples))

    def epochs(self, batches: int) -> dict[str, float]:
        """How often each language's text is seen by the first `batches` batches."""
        return self.mixture.passes(self.dealt(batches))

    def _at(self, number: int) -> tuple[int, Mixture]:
        """The batch at which the stage of a batch begins, and its mixture."""
        return next(row for row in reversed(self._mixtures) if row[0] <= number)

    @cached_property
    def _mixtures(self) -> list[tuple[int, Mixture]]:
        found = [(0, self.mixture)]
        for stage in self.stages:
            begun, last = found[-1]
            since = last.dealt((stage.batch - begun) * self.samples)
            before = _together(last.before, since)
            found.append((stage.batch, replace(last, shares=stage.shares, before=before)))
        return found


def _together(before: Mapping[str, int], since: Mapping[str, int]) -> dict[str, int]:
    """The sum by language, of which some may pause for a stage."""
    return {lang: before.get(lang, 0) + since.get(lang, 0) for lang in {**before, **since}}


@lru_cache(maxsize=64)
def _period_of(shares: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order, ranks and counts of a period with these shares."""
    per_period = _whole_shares(np.array(shares))
    order = _deal(per_period)
    rank = np.empty_like(order)
    for number, count in enumerate(per_period):
        rank[order == number] = np.arange(count)
    return order, rank, per_period


def _whole_shares(shares: np.ndarray) -> np.ndarray:
    """Samples of each source in the shortest period in which all shares are whole numbers.

    Shares with no such period up to `_LONGEST_PERIOD` get the one that fits them best.
    """
    shares = shares / shares.sum()
    periods = np.arange(1, _LONGEST_PERIOD + 1)
    ideal = periods[:, None] * shares
    misfit = np.abs(ideal - np.round(ideal)).max(axis=1)
    misfit[(np.round(ideal).sum(axis=1) != periods) | (np.round(ideal) < 1).any(axis=1)] = np.inf
    best = int(np.argmax(misfit < 1e-9)) if misfit.min() < 1e-9 else int(np.argmin(misfit))
    if misfit[best] == np.inf:
        smallest = f"{shares.min():.3g}"
        raise UserError(f"a share of {smallest} is too small", hint="give it 0.01% or nothing")
    return np.round(ideal[best]).astype(np.int64)


def _deal(counts: np.ndarray) -> np.ndarray:
    """Order a period so that after n samples each source has its share of n, less than one off.

    A source's next sample may come once its share has begun it and must before its share
    has passed it; dealing the earliest deadline first always succeeds (Tijdeman, 1980).
    """
    wanted = counts.tolist()
    period = sum(wanted)
    given = [0] * len(wanted)
    deadline = [-(-period // count) for count in wanted]
    order = np.empty(period, dtype=np.int64)
    for place in range(period):
        begun = [s for s, count in enumerate(wanted) if given[s] * period < count * (place + 1)]
        source = min(begun, key=deadline.__getitem__)
        given[source] += 1
        deadline[source] = -(-(given[source] + 1) * period // wanted[source])
        order[place] = source
    return order


def _permute(positions: np.ndarray, counts: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Where each position below its count goes in the shuffle of its key, in constant memory.

    A Feistel network on a rectangle just larger than the count; what falls outside the
    range is sent through again until it falls inside.
    """
    rows = np.ceil(np.sqrt(counts)).astype(np.uint64)
    counts = counts.astype(np.uint64)
    columns = (counts + rows - np.uint64(1)) // rows
    placed = positions.astype(np.uint64)
    outside = np.arange(len(placed))
    while len(outside):
        row, column = np.divmod(placed[outside], columns[outside])
        height, width, key = rows[outside], columns[outside], keys[outside]
        for _ in range(_ROUNDS):
            key = key + _GOLDEN
            row = (row + scramble(key ^ column) % height) % height
            key = key + _GOLDEN
            column = (column + scramble(key ^ row) % width) % width
        placed[outside] = row * width + column
        outside = outside[placed[outside] >= counts[outside]]
    return placed.astype(np.int64)
