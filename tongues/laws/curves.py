"""A run's losses through training, with its learning rates, those to come included."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

# Of `benchmarks/curve_forecast.py`, whose runs have warm-ups of 4 to 38 % of their steps.
_EARLY = 0.15  # share of the steps before which losses do not follow the law yet, or …
_SEEN = 0.5  # … of those that are done, where these are fewer
_WARM = 1.05  # lengths of the warm-up after which they do
_KNOTS = 400  # of the learning rates; chosen: a matrix of knots squared is made for each run

# Lags of the felt rate: memories of an exponential, in steps, as of the annealing law (arXiv
# 2408.11029); and the C of the multi-power law (arXiv 2503.12811), around that of its authors.
_MEMORIES, _POWERS = (30.0, 100.0, 300.0, 1000.0), (0.6, 2.05, 7.0)
# The multi-power law's own exponents; those of 25M, 100M and 400M parameters agree.
_BETA, _GAMMA = 0.59, 0.645
LAGS = ("exponential",) * len(_MEMORIES) + ("power",) * len(_POWERS)


@dataclass(frozen=True)
class LossCurve:
    """What a run's logs show.

    steps, losses: training loss in nats per token, and where it was taken, or the middle of the
    steps that it is the mean of. rates: the learning rate of every step, those to come included.
    heldout_steps, heldout: evaluations on held-out text, if there are any.
    """

    steps: np.ndarray
    losses: np.ndarray
    rates: np.ndarray
    params: float
    batch: float = 1.0  # tokens
    heldout_steps: np.ndarray = field(default_factory=lambda: np.empty(0))
    heldout: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def share(self) -> float:
        """Of its steps that are done."""
        return float(self.steps[-1]) / len(self.rates) if len(self.steps) else 0.0

    @property
    def newest(self) -> float:
        """The mean of the last three losses."""
        return float(np.mean(self.losses[-3:]))

    def until(self, share: float) -> "LossCurve":
        """As it was after a share of its steps."""
        last = share * len(self.rates)
        done, evaluated = self.steps <= last, self.heldout_steps <= last
        held = {"heldout_steps": self.heldout_steps[evaluated], "heldout": self.heldout[evaluated]}
        return replace(self, steps=self.steps[done], losses=self.losses[done], **held)

    @cached_property
    def settled(self) -> np.ndarray:
        """Which losses follow the law."""
        return self.steps > self.begins

    @cached_property
    def begins(self) -> float:
        """The step from which losses follow the law."""
        early = min(_EARLY, _SEEN * self.share) * len(self.rates)
        return max(early, _WARM * self.warmup)

    @cached_property
    def warmup(self) -> int:
        """Steps until the learning rate is at its highest."""
        return int(self.rates.argmax()) + 1

    @cached_property
    def peak(self) -> float:
        """The highest learning rate."""
        return float(self.rates.max())

    def progress(self, steps: np.ndarray) -> np.ndarray:
        """In tokens at the highest rate."""
        total = np.concatenate([[0.0], np.cumsum(np.sqrt(self.rates / self.peak))])
        return self.batch * np.interp(steps, np.arange(len(total)), total)

    def felt(self, steps: np.ndarray) -> np.ndarray:
        """Root of the learning rate as felt, relative to the highest; (lags, steps)."""
        lagged = np.sqrt(np.maximum(self._lagged, 0.0))
        return np.stack([np.interp(steps, self._knots + 1.0, values) for values in lagged])

    @cached_property
    def _knots(self) -> np.ndarray:
        """Steps from the highest rate on, as indices."""
        first, last = int(self.rates.argmax()), len(self.rates) - 1
        return np.unique(np.linspace(first, last, min(_KNOTS, last - first + 1)).astype(int))

    @cached_property
    def _lagged(self) -> np.ndarray:
        """Of each lag, at the knots, between which rates are lines."""
        knots = self._knots
        rates, width = self.rates[knots], np.diff(knots).astype(float)
        memories, lagged = np.array(_MEMORIES), np.ones((len(LAGS), len(knots)))
        behind = np.zeros(len(memories))
        for i, (steps, fall) in enumerate(zip(width, -np.diff(rates), strict=True), 1):
            lag = fall / steps * memories  # how far behind a rate that falls on and on
            behind = lag + (behind - lag) * np.exp(-steps / memories)
            lagged[: len(memories), i] = (rates[i] + behind) / self.peak
        total = np.concatenate([[0.0], np.cumsum(width * (rates[1:] + rates[:-1]) / 2)])
        after = np.maximum(total[:, None] - (total[1:] + total[:-1]) / 2, 0.0)  # each fall
        scaled = after * np.maximum(rates[1:], 1e-12) ** -_GAMMA
        for lag, power in enumerate(_POWERS, len(memories)):
            response = 1.0 - (1.0 + power * scaled) ** -_BETA
            lagged[lag] = 1.0 + response @ np.diff(rates) / self.peak
        return lagged
