"""Task scores forecast from losses: accuracy leaves chance along a sigmoid as the loss falls.

The second step of a two-step law (Bhagia et al. 2024, arXiv:2412.04403; Grattafiori et al. 2024):
a law of loss says what a run will reach, this one what that is worth on a task. Its three unknowns
are the loss at the middle of the sigmoid, its width, and how far runs scatter around it; their
posterior is taken on a grid, so that few runs give wide intervals. Where runs are at chance, or do
not follow the loss, no forecast is given but the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tongues.estimate import Estimate

__all__ = ["TaskLaw", "fit_task_law"]

_FEWEST = 5  # runs: the law has three unknowns
_EVIDENCE = 2.0  # nats by which the sigmoid must explain scores better than one level for all runs
_DRAWS = 4000
_MIDDLES = np.linspace(-2.0, 2.0, 81)  # of the sigmoid, in spans of the losses beyond their ends
_WIDTHS = np.geomspace(0.03, 3.0, 25)  # in spans of the losses
_SCATTER = np.geomspace(0.002, 0.1, 9)  # of accuracies around the law
_LEVELS = np.linspace(0.0, 1.0, 101)
_NORMAL = 1.96


@dataclass(frozen=True, slots=True, eq=False)
class TaskLaw:
    """What is believed of a task's accuracy as a function of the loss."""

    chance: float
    runs: int
    reason: str  # why it forecasts nothing; or empty
    middles: np.ndarray  # draws of the posterior, losses
    widths: np.ndarray
    scatter: np.ndarray
    error: float  # standard error of a measured accuracy

    def forecast(self, loss: Estimate | float, seed: int = 0) -> Estimate:
        """The accuracy that a run of that loss will be measured at; without one the reason."""
        if self.reason:
            return Estimate(float("nan"), reason=self.reason)
        random, count = np.random.default_rng(seed), len(self.middles)
        value = loss.value if isinstance(loss, Estimate) else loss
        spread = 0.0
        if isinstance(loss, Estimate) and loss.low is not None and loss.high is not None:
            spread = (loss.high - loss.low) / (2 * _NORMAL)
        losses = value + spread * random.standard_normal(count)
        noise = np.hypot(self.scatter, self.error) * random.standard_normal(count)
        draws = _sigmoid(losses, self.middles, self.widths, self.chance) + noise
        low, middle, high = np.percentile(draws.clip(0.0, 1.0), (2.5, 50.0, 97.5))
        return Estimate(float(middle), float(low), float(high), n=self.runs, method="predictive")


def fit_task_law(
    losses: Sequence[float], accuracies: Sequence[float], errors: Sequence[float], chance: float
) -> TaskLaw:
    """The law of runs with these losses and accuracies; errors: standard ones of accuracies."""
    x, y, error = (np.array(of, dtype=float) for of in (losses, accuracies, errors))
    span = float(np.ptp(x)) if len(x) else 0.0
    none = np.empty(0)
    if len(x) < _FEWEST or not span:
        count = f"{len(x)} runs were scored on it" if span else "its runs have one loss"
        reason = f"{count}, and {_FEWEST} of different losses are needed"
        return TaskLaw(chance, len(x), reason, none, none, none, 0.0)
    grid = np.meshgrid(x.min() + _MIDDLES * span, _WIDTHS * span, _SCATTER, indexing="ij")
    middles, widths, scatter = (of.ravel() for of in grid)
    curves = _sigmoid(x[:, None], middles, widths, chance)
    log_likelihood = _likely(y[:, None] - curves, np.hypot(error[:, None], scatter))
    sigmoid = _mean(log_likelihood)
    wide = np.hypot(error[:, None, None], _SCATTER)
    level = _mean(_likely(y[:, None, None] - _LEVELS[:, None], wide).ravel())
    at_chance = _mean(_likely(y[:, None] - chance, np.hypot(error[:, None], _SCATTER)))
    reason = ""
    if sigmoid < max(level, at_chance) + _EVIDENCE:
        reason = "scores do not follow the loss" if level > at_chance else "all runs are at chance"
    weights = np.exp(log_likelihood - log_likelihood.max())
    random = np.random.default_rng(0)
    chosen = random.choice(len(weights), _DRAWS, p=weights / weights.sum())
    draws = (middles[chosen], widths[chosen], scatter[chosen])
    return TaskLaw(chance, len(x), reason, *draws, float(np.median(error)))


def _sigmoid(loss: np.ndarray, middle: np.ndarray, width: np.ndarray, chance: float) -> np.ndarray:
    return chance + (1 - chance) / (1 + np.exp(np.clip((loss - middle) / width, -50, 50)))


def _likely(off: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Log-likelihood, summed over the runs of the first axis."""
    return (-0.5 * (off / deviation) ** 2 - np.log(deviation)).sum(axis=0)


def _mean(log_likelihood: np.ndarray) -> float:
    most = float(log_likelihood.max())
    return most + float(np.log(np.exp(log_likelihood - most).mean()))
