"""What a model remembers of the beginnings of rows, handed to whatever goes on from them."""

from copy import copy
from dataclasses import dataclass

from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

__all__ = ["Memory"]


@dataclass(frozen=True, slots=True)
class Memory:
    """Keys and values of rows that begin with as many tokens each."""

    cache: DynamicCache | None
    length: int

    def of(self, places: Tensor) -> DynamicCache | None:
        """As rows remember it that begin as those at these places; what is held stays as it is."""
        if self.cache is None:
            return None
        found = copy(self.cache)
        found.layers = [copy(layer) for layer in self.cache.layers]
        for layer in found.layers:
            if isinstance(layer, DynamicLayer) and layer.keys is not None:
                assert layer.values is not None
                layer.keys = _rows_of(layer.keys, places)
                layer.values = _rows_of(layer.values, places)
        return found


def _rows_of(states: Tensor, places: Tensor) -> Tensor:
    """The states of these rows; without a copy where there is but one."""
    if len(states) == 1:
        return states.expand(len(places), -1, -1, -1)
    return states[places]
