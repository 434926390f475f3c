"""Losses of several texts by the shares of a mixture, from small runs, and the best shares.

The loss on each text is predicted by gradient boosting from the shares, as RegMix does (Liu et al.
2024, arXiv 2407.01492). Texts are fitted one by one and then weighted: a fit of their mean ranks
mixtures worse (benchmarks/mixtures.txt).
"""

from collections.abc import Callable

import numpy as np

from tongues.core.estimate import Estimate
from tongues.core.extras import require

# Boosting's settings: the best of five on 27 and 64 of RegMix's runs (benchmarks/mixtures.txt)
_TREES, _RATE, _DEPTH, _SAMPLED = 100, 0.1, 2, 0.7
_CANDIDATES, _KEPT, _ROUNDS = 4000, 50, 3  # mixtures tried, and the best that are averaged
_GROUPS = 10  # of runs left out in turn, for an interval
_T = 2.262  # of a 95 % interval by as many groups: Student's t with 9 degrees of freedom

Predict = Callable[[np.ndarray], np.ndarray]  # mixtures (rows) to nats per token of each text


def fit_mixtures(shares: np.ndarray, losses: np.ndarray) -> Predict:
    """What predicts losses, of runs with these shares (runs, sources) and losses (runs, texts)."""
    require("sklearn", "train.mixture")
    from sklearn.ensemble import GradientBoostingRegressor

    models = [
        GradientBoostingRegressor(
            n_estimators=_TREES,
            learning_rate=_RATE,
            max_depth=_DEPTH,
            subsample=_SAMPLED,
            random_state=1,
        ).fit(shares, loss)
        for loss in losses.T
    ]
    return lambda tried: np.stack([model.predict(tried) for model in models], axis=1)


def best_mixture(
    predict: Predict, prior: np.ndarray, caps: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """The shares with the least weighted mean loss, none above its cap.

    prior: shares that mixtures are tried around. The mean of the best ones tried is taken, since
    the very best owes most to the errors of the prediction.
    """
    random, centre = np.random.default_rng(1), np.maximum(prior, 1e-4)
    for round_ in range(_ROUNDS):
        strengths = np.exp(random.uniform(np.log(0.5), np.log(20.0), _CANDIDATES)) * 4.0**round_
        alpha = np.maximum(strengths[:, None] * centre * len(centre), 1e-3)
        draws = random.standard_gamma(alpha) + 1e-12
        tried = np.vstack([prior, centre, draws])
        tried = np.stack([capped_shares(one, caps, 1.0) for one in tried / tried.sum(1)[:, None]])
        order = np.argsort(predict(tried) @ weights, kind="stable")[:_KEPT]
        centre = tried[order].mean(0)
    return centre / centre.sum()


def expected_gain(
    shares: np.ndarray,
    losses: np.ndarray,
    chosen: np.ndarray,
    other: np.ndarray,
    weights: np.ndarray,
) -> Estimate:
    """By how much the weighted mean loss of `chosen` is below that of `other`, by the runs.

    The interval is a jackknife's: a tenth of the runs is left out in turn, and the rest fitted.
    """
    count, both = len(shares), np.stack([chosen, other])
    group = np.random.default_rng(1).permutation(count) % _GROUPS

    def gain(rows: np.ndarray) -> float:
        better, worse = fit_mixtures(shares[rows], losses[rows])(both) @ weights
        return float(worse - better)

    value, each = gain(group >= 0), np.array([gain(group != left) for left in range(_GROUPS)])
    half = _T * float(np.sqrt((_GROUPS - 1) * each.var()))
    return Estimate(value, value - half, value + half, "nats/token", count, "jackknife over runs")


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
