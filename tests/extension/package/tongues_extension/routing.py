"""A routing: the experts take turns."""

import numpy as np

from tongues.experts.ensemble import Routing
from tongues.experts.ensemble.routing import RoutingContext


class Turns(Routing):
    name = "turns"
    summary = "one expert a token, each in its turn"
    label = "in turns"

    def weights(
        self, tokens: np.ndarray, about: RoutingContext, log_probs: np.ndarray | None = None
    ) -> np.ndarray:
        return np.eye(about.k)[np.arange(len(tokens)) % about.k]

    def chooses(self, k: int) -> bool:
        return True


TURNS = Turns()
