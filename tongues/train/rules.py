"""Batch and learning rate by the size of the model, where a recipe leaves them to a rule."""

import math

import numpy as np

from tongues.models import find_shape

__all__ = ["batch_by_size", "rate_at_size"]

_HALVED = 1_000_000_000  # parameters up to which a batch is a million tokens


def batch_by_size(parameters: int, context: int) -> int:
    """Tokens of a batch, a whole number of contexts."""
    wanted = 1e6 * min(4.0, max(1.0, parameters / _HALVED))
    return max(1, round(wanted / context)) * context


def rate_at_size(found: dict[str, float], parameters: int) -> float:
    """The rate carried from the shapes it was found at to a model of so many parameters."""
    sizes = [math.log(find_shape(name).hidden) for name in found]
    rates = [math.log(rate) for rate in found.values()]
    slope = np.polyfit(sizes, rates, 1)[0] if len(found) > 1 else -0.5
    return float(math.exp(np.mean(rates) + slope * (math.log(parameters) - np.mean(sizes))))
