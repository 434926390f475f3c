"""Losses of several texts by the shares of a mixture, from small runs, and the best shares.

Of each text the law is c + exp(a + t·p) for shares p (data mixing laws, Ye et al. 2024, arXiv
2403.16952), plus a smooth function of the logarithm of each share, which is what the law leaves of
the runs (a Gaussian process with an additive kernel). Texts are fitted one by one and then
weighted: a fit of their mean ranks mixtures worse (benchmarks/mixtures.txt).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tongues.estimate import Estimate

__all__ = ["MixtureLaw", "best_mixture", "capped_shares", "expected_gain", "fit_mixtures"]

_RIDGES = (1e-3, 1e-2, 0.1, 1.0, 10.0)  # of the slopes t, in units of the losses' variance
_STEPS = 100  # of the fit, at most
_SMALLEST = 1e-3  # share to which smaller ones count as near
_NOISES = (0.05, 0.2, 0.5, 1.0, 30.0)  # of what the law leaves, relative to its variance
_CANDIDATES, _KEPT, _ROUNDS = 4000, 50, 3  # mixtures tried, and the best that are averaged
_DRAWS = 100  # of the runs, for an interval
_TOO_HIGH = 30.0  # of an exponent


@dataclass(frozen=True, slots=True, eq=False)
class MixtureLaw:
    """Coefficients of each text, by row: c, a and t; and what the runs show beyond them.

    ridges: of the slopes of each text. places, scale: mean and standard deviation of the log
    shares. runs: those of the runs, so scaled. pulls: of each run on each text, in nats.
    """

    coefficients: np.ndarray
    ridges: tuple[float, ...]
    places: np.ndarray
    scale: np.ndarray
    runs: np.ndarray
    pulls: np.ndarray

    def predict(self, shares: np.ndarray) -> np.ndarray:
        """Nats per token of each mixture (rows) and text (columns)."""
        return (
            _law(self.coefficients, shares) + _kernel(self._scaled(shares), self.runs) @ self.pulls
        )

    def _scaled(self, shares: np.ndarray) -> np.ndarray:
        return (np.log(shares + _SMALLEST) - self.places) / self.scale


def fit_mixtures(
    shares: np.ndarray, losses: np.ndarray, ridges: Sequence[float] | None = None
) -> MixtureLaw:
    """The law of runs with these shares (runs, sources) and losses (runs, texts).

    ridges: of each text's slopes; None: those with the least generalised cross-validation error, so
    that losses which do not depend on the shares give a flat law.
    """
    if ridges is None:
        ridges = tuple(
            min(_RIDGES, key=lambda ridge: _fit_law(shares, loss, ridge)[1]) for loss in losses.T
        )
    fits = zip(losses.T, ridges, strict=True)
    coefficients = np.stack([_fit_law(shares, loss, ridge)[0] for loss, ridge in fits])
    logs = np.log(shares + _SMALLEST)
    places, scale = logs.mean(0), np.maximum(logs.std(0), 1e-6)
    runs = (logs - places) / scale
    kernel = _kernel(runs, runs)
    rest = losses - _law(coefficients, shares)
    pulls = np.zeros_like(rest)
    for text, left in enumerate(rest.T):
        best = -np.inf
        for noise in _NOISES:
            root = np.linalg.cholesky(kernel + noise * np.eye(len(runs)))
            white = np.linalg.solve(root, left)
            evidence = -len(runs) / 2 * np.log(white @ white + 1e-300) - np.log(np.diag(root)).sum()
            if evidence > best:
                best, pulls[:, text] = evidence, np.linalg.solve(root.T, white)
    return MixtureLaw(coefficients, tuple(ridges), places, scale, runs, pulls)


def best_mixture(
    law: MixtureLaw, prior: np.ndarray, caps: np.ndarray, weights: np.ndarray, *, seed: int = 1
) -> np.ndarray:
    """The shares with the least weighted mean loss, none above its cap.

    prior: shares that mixtures are tried around. The mean of the best ones tried is taken, since
    the very best owes most to the errors of the law.
    """
    random, centre = np.random.default_rng(seed), np.maximum(prior, 1e-4)
    for round_ in range(_ROUNDS):
        strengths = np.exp(random.uniform(np.log(0.5), np.log(20.0), _CANDIDATES)) * 4.0**round_
        alpha = np.maximum(strengths[:, None] * centre * len(centre), 1e-3)
        draws = random.standard_gamma(alpha) + 1e-12
        tried = np.vstack([prior, centre, draws])
        tried = np.stack([capped_shares(one, caps, 1.0) for one in tried / tried.sum(1)[:, None]])
        order = np.argsort(law.predict(tried) @ weights, kind="stable")[:_KEPT]
        centre = tried[order].mean(0)
    return centre / centre.sum()


def expected_gain(
    shares: np.ndarray,
    losses: np.ndarray,
    chosen: np.ndarray,
    other: np.ndarray,
    weights: np.ndarray,
    *,
    seed: int = 1,
) -> Estimate:
    """By how much the weighted mean loss of `chosen` is below that of `other`, by the runs.

    The interval comes from resampling the runs and fitting again.
    """
    random, both = np.random.default_rng(seed), np.stack([chosen, other])
    ridges = fit_mixtures(shares, losses).ridges

    def gain(rows: np.ndarray) -> float:
        better, worse = fit_mixtures(shares[rows], losses[rows], ridges).predict(both) @ weights
        return float(worse - better)

    count = len(shares)
    draws = [gain(random.integers(count, size=count)) for _ in range(_DRAWS)]
    low, high = np.quantile(draws, [0.025, 0.975])
    value, method = gain(np.arange(count)), "resampling runs"
    return Estimate(value, float(low), float(high), "nats/token", count, method)


def capped_shares(weights: np.ndarray, caps: np.ndarray, total: float) -> np.ndarray:
    """Shares of `total` in proportion to weights, where none takes more than its cap.

    What a cap leaves goes to the others; where all are at theirs, the shares are those of the caps.
    """
    amounts = np.zeros(len(weights))
    left, weight = total, float(weights.sum())
    for place in np.argsort(caps / np.maximum(weights, 1e-300)):  # the first ones reach their caps
        amounts[place] = min(caps[place], left * weights[place] / max(weight, 1e-300))
        left, weight = left - amounts[place], weight - weights[place]
    return amounts / amounts.sum()


def _law(coefficients: np.ndarray, shares: np.ndarray) -> np.ndarray:
    floor, start, slopes = coefficients[:, 0], coefficients[:, 1], coefficients[:, 2:]
    return floor + np.exp(np.minimum(start + shares @ slopes.T, _TOO_HIGH))


def _fit_law(shares: np.ndarray, loss: np.ndarray, ridge: float) -> tuple[np.ndarray, float]:
    """c, a and t of one text, by Levenberg and Marquardt, and its cross-validation error."""
    count, sources = shares.shape
    spread = max(float(loss.std()), 1e-9)
    floor = loss.min() - 0.3 * (loss.max() - loss.min()) - 1e-9
    design = np.hstack([np.ones((count, 1)), shares])
    start = np.linalg.solve(
        design.T @ design + 1e-2 * np.eye(sources + 1), design.T @ np.log(loss - floor)
    )
    theta = np.concatenate([[floor], start])
    pulled = np.sqrt(ridge) * np.hstack([np.zeros((sources, 2)), np.eye(sources)])

    def misses(at: np.ndarray) -> np.ndarray:
        return np.concatenate([(_law(at[None], shares)[:, 0] - loss) / spread, pulled @ at])

    def slopes_at(at: np.ndarray) -> np.ndarray:
        rise = (_law(at[None], shares)[:, 0] - at[0])[:, None]
        return np.vstack([np.hstack([np.ones((count, 1)), rise * design]) / spread, pulled])

    now, damping = misses(theta), 1e-3
    for _ in range(_STEPS):
        slopes = slopes_at(theta)
        normal, pull = slopes.T @ slopes, slopes.T @ now
        step = np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-9), -pull)
        tried = misses(theta + step)
        if tried @ tried < now @ now:
            gained = 1 - (tried @ tried) / (now @ now)
            theta, now, damping = theta + step, tried, damping / 5
            if gained < 1e-9:
                break
        else:
            damping *= 4
            if damping > 1e12:
                break
    slopes = slopes_at(theta)
    measured = slopes[:count]
    inverse = np.linalg.pinv(slopes.T @ slopes)
    free = count - float(np.einsum("ij,jk,ik->", measured, inverse, measured))
    return theta, float(now[:count] @ now[:count]) / max(free, 1e-3) ** 2


def _kernel(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Of log shares so scaled: the mean over sources of a bell of width 1."""
    total = np.zeros((len(left), len(right)))
    for one, other in zip(left.T, right.T, strict=True):
        total += np.exp(-0.5 * np.subtract.outer(one, other) ** 2)
    return total / left.shape[1]
