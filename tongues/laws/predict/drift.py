"""How a law strays from the truth: a smooth error that grows with distance.

The error of the logarithm of the loss is a sum of two curves, one over the logarithm of compute and
one over that of tokens per parameter. The slope of each is a random walk: of compute from the
smallest run on, of tokens per parameter from the middle of the runs in both directions. Where runs
differ in their number of experts, what these are worth strays over compute too.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
_APART = 0.5  # between the knots of a walk, in tenfolds
_FARTHEST = 12.0  # tenfolds
# the next two by `benchmarks/extrapolation.py`: small runs stray most, and far ratios more than far
# compute
_CALMER = 0.7  # size of the steps of a walk, of those a tenfold earlier
_OF_RATIO = 1.5  # size of the drift over tokens per parameter, in that over compute
# the same for each doubling of experts: they lose at 0.05M parameters and 240k tokens (the example
# of the plan guide) and gain at 0.4M and 3M (`benchmarks/experts_real.txt`)
_OF_EXPERTS = 0.5


@dataclass(frozen=True, slots=True)
class DriftWalks:
    """Where the walks begin: log10 of compute, and of tokens per parameter (None: no such walk).

    experts: whether there is a walk for their number.

    A drift is `features @ coefficients`, whose coefficients are independent, of one size; it has
    that size a tenfold from the start.
    """

    start: float
    ratio: float | None = None
    experts: bool = False

    @property
    def count(self) -> int:
        """How many coefficients a drift has."""
        knots = round(_FARTHEST / _APART)
        return knots * (1 + 2 * (self.ratio is not None) + self.experts)

    def features(self, variables: Mapping[str, Array], flops: Array) -> Array:
        """A row a place."""
        walks = [_walk(np.log10(flops) - self.start)]
        if self.ratio is not None:
            along = np.log10(variables["D"] / variables["N"]) - self.ratio
            walks += [_OF_RATIO * _walk(along), _OF_RATIO * _walk(-along)]
        if self.experts:
            walks.append(_OF_EXPERTS * np.log2(variables["k"])[..., None] * walks[0])
        return np.concatenate(walks, axis=-1)


def _walk(gone: Array) -> Array:
    """What each step of the slope has added up to; the first step is at the start itself."""
    knots = np.arange(0.0, _FARTHEST, _APART)
    steps = _CALMER**knots
    added = np.maximum(np.asarray(gone)[..., None] - knots, 0.0) * steps
    unit = np.sqrt(((np.maximum(1.0 - knots, 0.0) * steps) ** 2).sum())  # a tenfold away it is 1
    return added / unit
