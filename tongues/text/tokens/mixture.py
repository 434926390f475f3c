"""The sampling order of a run: which window of which language every sample is.

It is a pure function of the sample's number and of the phases, so a run resumes anywhere from its
step alone, and a larger budget begins with the samples of a smaller one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from tongues.core.errors import UserError, nearest
from tongues.core.randomness import derive_seed
from tongues.text.signals.units import scramble
from tongues.text.tokens.frame import TextFrame

_LONGEST_PERIOD = 2**16  # samples; chosen: shares are exact to 0.002 %
_ROUNDS = 4  # four suffice for a strong pseudorandom permutation (Luby and Rackoff, 1988)
_BLOCK = 4096  # samples
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

_Period = tuple[np.ndarray, np.ndarray, np.ndarray]  # languages in order, ranks, counts


@dataclass(frozen=True, slots=True)
class Phase:
    """Shares by language that hold from a batch on, counted from 0."""

    batch: int
    shares: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Samples of `context` + 1 tokens from several languages.

    Parameters
    ----------
    sources: the training tokens of each language, one-dimensional.
    shares: share of the samples of each language before the first phase; adds up to 1. The number
        of samples of a language is always less than one off its share. (Shares are whole numbers
        of a period of up to 65,536 samples, which is exact for 5% and for a third.)
    context: tokens that a sample predicts; windows overlap by the one token between them.
    seed: orders the windows of each epoch.
    frame: begins every sample; None: as it is in the text.
    samples: of a batch.
    phases: changes of the shares, by rising batch; the last one of a batch holds. Each language
        continues with its next window, so none is repeated before all of them were used.
    """

    sources: Mapping[str, np.ndarray]
    shares: Mapping[str, float]
    context: int
    seed: int
    samples: int = 1
    phases: Sequence[Phase] = ()
    frame: TextFrame | None = None

    def __post_init__(self) -> None:
        for shares in (self.shares, *(phase.shares for phase in self.phases)):
            for lang, share in shares.items():
                if lang not in self.sources:
                    raise UserError(f"no tokens of `{lang}`", hint=nearest(lang, self.sources))
                if share < 0:
                    raise UserError(f"the share of `{lang}` is negative")
                if share > 0 and len(self.sources[lang]) <= self.context:
                    count = len(self.sources[lang])
                    what = f"{count} tokens of `{lang}` do not fill a window of {self.context} + 1"
                    raise UserError(what, hint="give it more text or lower the context")
            total = sum(shares.values())
            if abs(total - 1) > 1e-5:
                raise UserError(f"the shares add up to {total:.6g}, not 1")

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages with a share in any phase, sorted."""
        every = (self.shares, *(phase.shares for phase in self.phases))
        return tuple(sorted({lang for shares in every for lang in shares if shares[lang] > 0}))

    def batch(self, number: int, part: slice = slice(None)) -> np.ndarray:
        """The tokens of a batch, counted from 0: int64 of shape [samples, context + 1].

        part: which of its samples, by default all.
        """
        block, begin = divmod(number * self.samples, _BLOCK)
        end = begin + self.samples
        if end > _BLOCK:
            source, _, window = self.locate(np.arange(begin, end) + block * _BLOCK)
        else:  # small batches are located many at a time
            if block not in self._located:
                located = self.locate(np.arange(block * _BLOCK, (block + 1) * _BLOCK))
                self._located.clear()
                self._located[block] = located
            source, _, window = (part[begin:end] for part in self._located[block])
        source, window = source[part], window[part]
        tokens = np.empty((len(source), self.context + 1), dtype=np.int64)
        for index, view in enumerate(self._views):
            chosen = source == index
            tokens[chosen] = view[window[chosen]]
        return self.frame.begin(tokens) if self.frame else tokens

    def locate(self, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Source (index into `languages`), epoch and window of samples by their numbers."""
        source, drawn = np.empty_like(samples), np.empty_like(samples)
        phase_of = np.searchsorted([start for start, _, _ in self._phases], samples, "right") - 1
        for phase in np.unique(phase_of):
            start, (order, rank, per_period), before = self._phases[phase]
            here = phase_of == phase
            period, place = np.divmod(samples[here] - start, len(order))
            source[here] = index = order[place]
            drawn[here] = period * per_period[index] + rank[place] + before[index]
        windows = self._windows[source]
        epoch, position = np.divmod(drawn, windows)
        keys = scramble(self._keys[source] + epoch.astype(np.uint64) * _GOLDEN)
        return source, epoch, _permute(position, windows, keys)

    def counts(self, batches: int) -> dict[str, int]:
        """Samples of each language in the first `batches` batches."""
        samples = batches * self.samples
        phase = next(phase for phase in reversed(self._phases) if phase[0] <= samples)
        return dict(zip(self.languages, _counts(phase, samples).tolist(), strict=True))

    def epochs(self, batches: int) -> dict[str, float]:
        """How often each language's text is read by the first `batches` batches."""
        counts, windows = self.counts(batches), self._windows.tolist()
        return {lang: counts[lang] / n for lang, n in zip(self.languages, windows, strict=True)}

    @cached_property
    def _located(self) -> dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]:
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
    def _keys(self) -> np.ndarray:
        seeds = [derive_seed(self.seed, lang) for lang in self.languages]
        return np.array(seeds, dtype=np.uint64)

    @cached_property
    def _phases(self) -> list[tuple[int, _Period, np.ndarray]]:
        """First sample, period and earlier samples of each language, of every phase."""
        before, phases = np.zeros(len(self.languages), np.int64), []
        for change in (Phase(0, self.shares), *self.phases):
            start = change.batch * self.samples
            if phases:
                before = _counts(phases[-1], start)
            shares = tuple(change.shares.get(lang, 0.0) for lang in self.languages)
            phases.append((start, _period(shares), before))
        return phases


def _counts(phase: tuple[int, _Period, np.ndarray], samples: int) -> np.ndarray:
    """Samples of each language among the first `samples`, which end in this phase."""
    start, (order, _, per_period), before = phase
    periods, rest = divmod(samples - start, len(order))
    return before + periods * per_period + np.bincount(order[:rest], minlength=len(per_period))


@lru_cache(maxsize=64)
def _period(shares: tuple[float, ...]) -> _Period:
    """The recurring order of sources, each sample's rank within its source, counts per period."""
    per_period = np.zeros(len(shares), np.int64)
    positive = np.flatnonzero(np.array(shares) > 0)
    per_period[positive] = _whole_shares(np.array(shares)[positive])
    order = positive[_spread(per_period[positive])]
    rank = np.empty_like(order)
    for index, count in enumerate(per_period):
        rank[order == index] = np.arange(count)
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


def _spread(counts: np.ndarray) -> np.ndarray:
    """Order a period so that after n samples each source has its share of n, less than one off.

    A source's next sample may come once its share has begun it and must before its share
    has passed it; taking the earliest deadline first always succeeds (Tijdeman, 1980).
    """
    quotas = counts.tolist()
    period = sum(quotas)
    drawn = [0] * len(quotas)
    deadline = [-(-period // count) for count in quotas]
    order = np.empty(period, dtype=np.int64)
    for place in range(period):
        begun = [s for s, count in enumerate(quotas) if drawn[s] * period < count * (place + 1)]
        source = min(begun, key=deadline.__getitem__)
        drawn[source] += 1
        deadline[source] = -(-(drawn[source] + 1) * period // quotas[source])
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
    permuted = positions.astype(np.uint64)
    outside = np.arange(len(permuted))
    while len(outside):
        row, column = np.divmod(permuted[outside], columns[outside])
        height, width, key = rows[outside], columns[outside], keys[outside]
        for _ in range(_ROUNDS):
            key = key + _GOLDEN
            row = (row + scramble(key ^ column) % height) % height
            key = key + _GOLDEN
            column = (column + scramble(key ^ row) % width) % width
        permuted[outside] = row * width + column
        outside = outside[permuted[outside] >= counts[outside]]
    return permuted.astype(np.int64)
