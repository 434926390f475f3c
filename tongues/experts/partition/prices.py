"""The prices at which k parts are asked for evenly, when every point takes what costs it least.

They are where a concave function is greatest, one with a kink at every point. It is smoothed, each
point taking all parts by softened shares, climbed by Newton's steps, and the softness is taken
away by and by. Setting one price after the other instead stalls where parts lie in a row.
"""

import numpy as np

__all__ = ["even_prices", "rough_prices"]

_ENOUGH = 16_384  # points to find rough prices from,
_EVERY = 8  # or every eighth if that is more
_LEVELS = 6  # of softness
_SHARPER = 8  # times from one to the next
_WARM = 3  # the level to begin at when the prices are nearly right
_POOR = 5e-3  # the share of points left uneven that is worth another climb from the foot
_EVEN = 5e-4  # the same when a level is done
_STEPS = 8  # at each level, at the most
_CUTS = 8  # of a step too long, to a quarter each
_BLOCK = 8192  # points that stay in the processor's cache


def rough_prices(
    columns: np.ndarray, weights: np.ndarray | None, start: np.ndarray | None
) -> np.ndarray:
    """Prices at which the parts are even but for chance, from some of the points."""
    step = min(max(columns.shape[1] // _ENOUGH, 1), _EVERY)
    some = None if weights is None else weights[::step]
    return even_prices(np.ascontiguousarray(columns[:, ::step]), some, start)


def even_prices(
    columns: np.ndarray, weights: np.ndarray | None, start: np.ndarray | None
) -> np.ndarray:
    """Prices at which each part is taken by nearly a k-th of the points.

    columns: the costs as (k, n).
    weights: of the points, if they do not count alike.
    start: prices that are nearly right, if such are known.
    """
    weights = np.ones(columns.shape[1]) if weights is None else weights
    shares = (weights / weights.sum()).astype(columns.dtype)
    spread = float((columns.mean(axis=0) - columns.min(axis=0)).mean()) or 1.0
    if start is not None:
        prices, uneven = _climb(columns, shares, start, spread, _WARM)
        if uneven < _POOR:
            return prices
    return _climb(columns, shares, np.zeros(len(columns)), spread, 0)[0]


def _climb(
    columns: np.ndarray, shares: np.ndarray, prices: np.ndarray, spread: float, begin: int
) -> tuple[np.ndarray, float]:
    """The prices found from others on, and the share of the points that they leave uneven."""
    k, slope = len(columns), np.zeros(len(columns))
    for level in range(begin, _LEVELS):
        softness = spread / _SHARPER**level
        value, slope, bend = _softened(columns, shares, prices, softness)
        for _ in range(_STEPS):
            if _uneven(slope) < _EVEN:
                break
            ridge = 1e-7 * np.trace(bend) / k + 1e-12
            step = np.linalg.solve(bend + ridge * np.eye(k), slope)
            step *= min(1.0, spread / np.abs(step).max())
            for _ in range(_CUTS):
                new = _softened(columns, shares, prices + step, softness)
                if new[0] >= value:
                    break
                step /= 4
            else:
                break
            prices = prices + step
            value, slope, bend = new
    return prices - prices.mean(), _uneven(slope)


def _uneven(slope: np.ndarray) -> float:
    """The share of the points that would have to change their part."""
    return float(np.abs(slope).sum()) / 2


def _softened(
    columns: np.ndarray, shares: np.ndarray, prices: np.ndarray, softness: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """The smoothed function of the prices, its slope, and its bend downwards."""
    k, n = columns.shape
    value, sizes, both = -float(prices.mean()), np.zeros(k), np.zeros((k, k))
    raised = prices[:, None].astype(columns.dtype)
    for begin in range(0, n, _BLOCK):
        asked = columns[:, begin : begin + _BLOCK] + raised
        share = shares[begin : begin + _BLOCK]
        least = asked.min(axis=0)
        np.subtract(least, asked, out=asked)
        asked /= softness
        taken = np.exp(asked, out=asked)
        total = taken.sum(axis=0)
        value += float(share @ (least - softness * np.log(total)))
        taken /= total
        weighed = taken * share
        sizes += weighed.sum(axis=1)
        both += weighed @ taken.T
    return value, sizes - 1 / k, (np.diag(sizes) - both) / softness
