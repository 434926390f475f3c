"""What follows from a run's size where a recipe leaves it to a rule: batch, rate, compilation."""

import math
from collections.abc import Mapping

import numpy as np

from tongues.models import find_shape, of_shape

__all__ = ["batch_by_size", "compile_pays", "rate_at_size"]

# Up to so many parameters, a batch of so many tokens: the continual pre-training study.
_STUDIED = ((1e9, 1e6), (2.5e9, 2e6), (math.inf, 4e6))
_SMALLEST = 49e6  # parameters of its smallest model; below, a batch shrinks with the model:
_SHRINKS = 1.0  # power of the parameters
_PAYS = {"cpu": 5e13, "cuda": 1e16}  # operations of a whole run from which compiling pays
_SLOWS = -0.4  # power of the parameters with which the best rate falls, where one is known


def batch_by_size(parameters: int, context: int) -> int:
    """Tokens of a batch, a whole number of contexts, for so many parameters in all.

    A million up to a billion parameters, two up to 2.5, four above; below the smallest model this
    was used for, in proportion to the parameters: the number of steps then stays the same at
    equal tokens per parameter.
    """
    wanted = next(tokens for most, tokens in _STUDIED if parameters <= most)
    wanted *= min(1.0, parameters / _SMALLEST)
    return max(1, round(wanted / context)) * context


def rate_at_size(found: Mapping[str, float], parameters: int) -> float:
    """The peak rate for so many parameters outside the embeddings, from rates found by shape.

    A power law through those found, by least squares of the logarithms; through a single one
    with the power -0.4 (Li et al. 2025, at equal tokens per parameter).
    """
    shapes = [find_shape(name, where="train.rate") for name in found]
    sizes = np.log([of_shape(shape, 0).parameters["non_embedding"] for shape in shapes])
    rates = np.log(list(found.values()))
    power = np.polyfit(sizes, rates, 1)[0] if len(found) > 1 else _SLOWS
    return float(np.exp(rates.mean() + power * (math.log(parameters) - sizes.mean())))


def compile_pays(flops: float, bfloat16: bool, device_type: str = "cpu") -> bool:
    """Whether a run of so many operations a process is long enough to win back a compiler's start.

    It follows from the recipe's whole work alone, so that a resumed run decides the same. In
    float32 a processor's time goes into matrix products, which a compiler does not make quicker.
    """
    return flops >= _PAYS[device_type] and (bfloat16 or device_type != "cpu")
