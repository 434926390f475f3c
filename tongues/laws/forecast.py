"""The final loss of a run that has not ended, from its losses so far and its learning rates.

The law: loss = L + B·(u^-alpha − 1)/alpha + K·(f − f_now). u is progress relative to now, where
progress is the sum over steps of the square root of the learning rate. f is the square root of the
rate as the loss feels it: it follows a falling rate with a lag. With the rate in place of its roots
this is the annealing law (Tissue et al. 2408.11029) for an exponential lag, and nearly the
multi-power law (Luo et al. 2503.12811) for a power law. The roots make forecasts across schedules
better by a third on small runs, and no worse on those of 25M and 100M parameters.

Given alpha and the lag the law is linear, so its posterior on a grid of both is exact, and the data
weigh the two kinds of lag. Finished runs, the pilots, replace the prior by their own posterior,
carried over to the size, the learning rate, the batch and the progress of the run. They alone show
what the first part of a run cannot: the effect of the decay to come.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tongues.core.estimate import Estimate
from tongues.laws.curves import LAGS, LossCurve

_FEWEST = 8  # losses past the early steps; chosen: the law has five unknowns
# That losses are averaged to, evenly in log progress; chosen: their covariance is inverted.
_POINTS = 80

_ALPHA = np.linspace(0.0, 1.4, 29)  # up to three deviations above its prior's mean
_A, _LAG = np.tile(_ALPHA, len(LAGS)), np.repeat(np.arange(len(LAGS)), len(_ALPHA))  # of a cell
_CELLS = len(_A)

# All constants from here on were tuned on the runs of `benchmarks/curve_forecast.py` that are not
# held out there (errors and intervals: `benchmarks/curve_forecast.txt`). B, K relative to the loss.
# What is thought before a run, as mean and standard deviation:
_PRIOR_ALPHA = (0.43, 0.32)  # without a pilot
_PRIOR_LAG = np.array([{"exponential": 0.1, "power": 0.2}[lag] for lag in LAGS])  # weights
_PRIOR_BK = np.array([0.12, 0.08])  # means of B and K …
_PRIOR_BK_SD = np.array([0.11, 0.03])  # … for a pilot, which has its decay …
_ALONE_BK_SD = np.array([0.15, 0.08])  # … and for a run without one, which has not
_LEVEL_SD = 0.3  # of the final loss, relative to the newest: wide, since the losses show it
# What carries a pilot's B and K over, as exponents of a ratio of the two runs:
_OF_SIZE, _OF_SIZE_SD = np.array([0.16, 0.19]), np.array([0.076, 0.045])  # of parameters
_OF_RATE = np.array([0.0, 0.26])  # of the learning rate
_OF_BATCH = np.array([0.0, -0.37])  # of the batch
_OF_LENGTH_SD = np.array([0.033, 0.025])  # of the length, with a mean of zero
_ALPHA_OF_SIZE = -0.086  # alpha falls with size: .51, .45, .43 at 25M, 100M, 400M
_LEAST_LEVEL = 0.2  # of a pilot's loss where the run is now; a bound, so that none is negative
_SCATTER = np.array([0.049, 0.045])  # of B and K among runs of one size
_TRUST = 0.83  # weight of a pilot's evidence for alpha and lag
# How far a run strays from the law:
_MISFIT, _MISFIT_RANGE = 0.028, 1.0  # as a share of B; over e-folds of progress
_FLOOR = 2e-4  # of the misfit and of the noise, relative to the loss
_GAP_SD, _GAP_SD_ALONE = 0.0037, 0.01  # of held-out against training loss at the end
_GAP_SEEN = 0.3  # how much of what the run's own gap differs from a pilot's will last
_SOONEST = 0.09  # share of a run's steps from which it is forecast: the first log past 10 %
_OF_FALL = 0.8  # standard deviation of a ratio, in its logarithm
_WIDTH = 1.25  # of intervals, for 95 % of them to contain the final loss
_NORMAL = 1.96  # standard deviations of a normal's 95 % interval


@dataclass(frozen=True, slots=True)
class _Prior:
    """By cell: log weight, alpha, and B and K relative to the loss with their covariance."""

    log_weight: np.ndarray
    alpha: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray


def _prior(spread: np.ndarray) -> _Prior:
    """With no pilot; spread: of B and K."""
    mean, deviation = _PRIOR_ALPHA
    return _Prior(
        -0.5 * ((_A - mean) / deviation) ** 2 + np.log(_PRIOR_LAG)[_LAG],
        _A,
        np.tile(_PRIOR_BK, (_CELLS, 1)),
        np.tile(np.diag(spread**2), (_CELLS, 1, 1)),
    )


_PRIOR, _ALONE = _prior(_PRIOR_BK_SD), _prior(_ALONE_BK_SD)  # of a pilot, and of a run without


@dataclass(frozen=True, slots=True)
class _Posterior:
    """Of a curve, by cell: log evidence, (L, B, K) relative to `loss`, and what they predict."""

    log_weight: np.ndarray
    alpha: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    loss: float  # about the newest
    now: float  # progress
    felt_now: np.ndarray
    end: float  # loss at the last step …
    end_sd: float  # … without the noise of a single loss

    def law(self, curve: LossCurve, steps: np.ndarray) -> np.ndarray:
        """The loss by the law at some steps, averaged over cells."""
        terms = _terms(curve, steps, self.now, self.felt_now, self.alpha)
        weight = _normalised(self.log_weight)
        return self.loss * np.einsum("c,cni,ci->n", weight, terms, self.mean)


def forecast_loss(curve: LossCurve, pilots: Sequence[LossCurve] = ()) -> Estimate | None:
    """The loss at the last step, held out where the curve has evaluations, with a 95 % interval.

    None in the first tenth of a run, and without pilots as long as too few losses are past the
    warm-up; with pilots the loss then falls as theirs did from that share of the steps on.
    pilots: finished runs that learn the same in the same way; one with another size, length or
    schedule serves too, but without a decay among them the interval is wide.
    """
    if curve.share < _SOONEST:
        return None
    if curve.settled.sum() < _FEWEST:
        return _by_ratio(curve, pilots)
    fitted = [(pilot, _fit(pilot, _PRIOR)) for pilot in pilots if pilot.settled.sum() >= _FEWEST]
    now = _now(curve)
    carried = [_carried(pilot, own, curve, now) for pilot, own in fitted]
    posterior = _fit(curve, _combined(carried) if fitted else _ALONE)
    gap, gap_sd = _gap(curve, posterior, fitted)
    value = posterior.end * math.exp(gap)
    width = _WIDTH * (1.0 + curve.warmup / float(curve.steps[-1]))  # less of it follows the law
    half = _NORMAL * value * math.hypot(width * posterior.end_sd / posterior.end, gap_sd)
    method = f"learning-curve law with {len(fitted)} pilot runs"
    return Estimate(value, value - half, value + half, "nats/token", len(fitted), method)


def _by_ratio(curve: LossCurve, pilots: Sequence[LossCurve]) -> Estimate | None:
    """The newest loss times what was left of the pilots' at that share of their steps."""
    falls = [
        math.log(float(pilot.heldout[-1] if len(pilot.heldout) else pilot.newest))
        - math.log(pilot.until(curve.share).newest)
        for pilot in pilots
        if len(pilot.until(curve.share).steps)
    ]
    if not falls:
        return None
    fall = float(np.mean(falls))
    value = curve.newest * math.exp(fall)
    half = _NORMAL * value * math.hypot(_OF_FALL * fall, _GAP_SD_ALONE)
    method = f"ratio of {len(falls)} pilot runs"
    return Estimate(value, value - half, value + half, "nats/token", len(falls), method)


def _gap(
    curve: LossCurve, posterior: _Posterior, pilots: Sequence[tuple[LossCurve, _Posterior]]
) -> tuple[float, float]:
    """Log of held-out loss over the law at the end, and its standard deviation."""
    shares, own = _gaps(curve, posterior)
    others = [_gaps(*pilot) for pilot in pilots if len(pilot[0].heldout)]
    if not others:
        return (float(own.mean()), _GAP_SD_ALONE) if len(own) else (0.0, 0.0)
    ends = float(np.mean([gaps[-1] for _, gaps in others]))
    if not len(own):
        return ends, _GAP_SD
    then = np.mean([np.interp(shares, *gaps) for gaps in others], axis=0)
    return ends + _GAP_SEEN * float(np.mean(own - then)), _GAP_SD


def _gaps(curve: LossCurve, posterior: _Posterior) -> tuple[np.ndarray, np.ndarray]:
    """Log of held-out loss over the law, and the share of the steps, of each evaluation."""
    shares = curve.heldout_steps / len(curve.rates)
    kept = curve.heldout_steps > curve.begins
    law = posterior.law(curve, curve.heldout_steps[kept])
    return shares[kept], np.log(curve.heldout[kept] / law)


def _now(curve: LossCurve) -> float:
    return float(curve.progress(curve.steps[-1:])[0])


def _last(curve: LossCurve) -> float:
    return float(curve.progress(np.array([len(curve.rates)]))[0])


def _fit(curve: LossCurve, prior: _Prior) -> _Posterior:
    """Bayesian linear regression in every cell, with a misfit correlated along log progress."""
    steps, losses = curve.steps[curve.settled], curve.losses[curve.settled]
    loss = curve.newest
    bends = np.abs(np.diff(losses, 2))
    noise = max(1.4826 * float(np.median(bends)) / np.sqrt(6.0), _FLOOR * loss)
    log_progress = np.log(curve.progress(steps))
    edges = np.linspace(log_progress[0], log_progress[-1], _POINTS + 1)[1:-1]
    _, group, count = np.unique(
        np.digitize(log_progress, edges), return_inverse=True, return_counts=True
    )
    steps, losses, place = (
        np.bincount(group, values) / count for values in (steps, losses, log_progress)
    )
    slope = abs(np.polyfit(place, losses, 1, w=np.sqrt(count))[0])
    misfit = (_MISFIT * slope) ** 2 + (_FLOOR * loss) ** 2
    last = np.array([float(len(curve.rates))])

    def related(to: np.ndarray) -> np.ndarray:
        return misfit * np.exp(-np.abs(to[:, None] - place) / _MISFIT_RANGE)

    whiten = np.linalg.inv(np.linalg.cholesky(np.diag(noise**2 / count) + related(place)))
    white_losses = whiten @ losses
    white_end = whiten @ related(np.log(curve.progress(last)))[0]
    now, felt_now = _now(curve), curve.felt(curve.steps[-1:])[:, 0]
    rows = whiten @ _terms(curve, steps, now, felt_now, prior.alpha)
    mean = loss * np.concatenate([np.ones((_CELLS, 1)), prior.mean], axis=1)
    precision = np.zeros((_CELLS, 3, 3))
    precision[:, 0, 0] = (_LEVEL_SD * loss) ** -2
    precision[:, 1:, 1:] = np.linalg.inv(prior.covariance) / loss**2
    whole = precision + np.einsum("cni,cnj->cij", rows, rows)
    covariance = np.linalg.inv(whole)
    pull = np.einsum("cni,n->ci", rows, white_losses) + np.einsum("cij,cj->ci", precision, mean)
    fitted = np.einsum("cij,cj->ci", covariance, pull)
    rest, moved = white_losses - np.einsum("cni,ci->cn", rows, fitted), fitted - mean
    misses = (rest**2).sum(1) + np.einsum("ci,cij,cj->c", moved, precision, moved)
    volume = np.linalg.slogdet(whole)[1] - np.linalg.slogdet(precision)[1]
    log_weight = prior.log_weight - 0.5 * (misses + volume)

    ending = _terms(curve, last, now, felt_now, prior.alpha)[:, 0]
    ends = np.einsum("ci,ci->c", ending, fitted) + rest @ white_end
    open_ends = ending - np.einsum("cni,n->ci", rows, white_end)
    variances = misfit - white_end @ white_end
    variances += np.einsum("ci,cij,cj->c", open_ends, covariance, open_ends)
    weight = _normalised(log_weight)
    end = float(weight @ ends)
    spread = float(np.sqrt(weight @ (variances + (ends - end) ** 2)))
    means, covariances = fitted / loss, covariance / loss**2
    return _Posterior(log_weight, prior.alpha, means, covariances, loss, now, felt_now, end, spread)


def _terms(
    curve: LossCurve, steps: np.ndarray, now: float, felt_now: np.ndarray, alpha: np.ndarray
) -> np.ndarray:
    """What (L, B, K) are multiplied by, (cells, steps, 3)."""
    falls = _falls(curve.progress(steps) / now, alpha[:, None])
    felt = (curve.felt(steps) - felt_now[:, None])[_LAG]
    return np.stack([np.ones_like(falls), falls, felt], axis=2)


def _falls(progress: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """A power that falls through 0 at 1 with slope −1; for an exponent of 0 the logarithm."""
    zero = alpha == 0
    power = (progress**-alpha - 1.0) / np.where(zero, 1.0, alpha)
    return np.where(zero, -np.log(progress), power)


def _carried(pilot: LossCurve, fitted: _Posterior, curve: LossCurve, now: float) -> _Prior:
    """What a pilot knows, at the size, learning rate and progress of another run."""
    progress, size = now / fitted.now, np.log(curve.params / pilot.params)
    felt = curve.felt(curve.steps[-1:])[:, 0] - fitted.felt_now
    level = 1.0 + fitted.mean[:, 1] * _falls(np.array(progress), fitted.alpha)
    level = np.maximum(level + fitted.mean[:, 2] * felt[_LAG], _LEAST_LEVEL)
    rate, batch = np.log(curve.peak / pilot.peak), np.log(curve.batch / pilot.batch)
    length = np.log(_last(curve) / _last(pilot))
    factor = np.exp(_OF_SIZE * size + _OF_RATE * rate + _OF_BATCH * batch) / level[:, None]
    factor[:, 0] *= progress**-fitted.alpha
    mean = fitted.mean[:, 1:] * factor
    covariance = fitted.covariance[:, 1:, 1:] * factor[:, :, None] * factor[:, None, :]
    differing = _SCATTER**2 / 2 + (_OF_SIZE_SD * size) ** 2 + (_OF_LENGTH_SD * length) ** 2
    covariance = covariance + (mean**2 * differing + 1e-8)[:, :, None] * np.eye(2)
    alpha = _A * np.exp(_ALPHA_OF_SIZE * size)
    return _Prior(fitted.log_weight, alpha, mean, covariance)


def _combined(priors: Sequence[_Prior]) -> _Prior:
    """Of several pilots: each is off by itself, and the run is off from all of them."""
    precisions = [np.linalg.inv(prior.covariance) for prior in priors]
    covariance = np.linalg.inv(sum(precisions))
    pulls = (
        np.einsum("cij,cj->ci", own, prior.mean)
        for own, prior in zip(precisions, priors, strict=True)
    )
    mean = np.einsum("cij,cj->ci", covariance, sum(pulls))
    covariance = covariance + (mean**2 * _SCATTER**2 / 2)[:, :, None] * np.eye(2)
    log_weight = _TRUST * np.mean([prior.log_weight for prior in priors], axis=0)
    alpha = np.mean([prior.alpha for prior in priors], axis=0)
    return _Prior(log_weight, alpha, mean, covariance)


def _normalised(log_weight: np.ndarray) -> np.ndarray:
    weight = np.exp(log_weight - log_weight.max())
    return weight / weight.sum()
