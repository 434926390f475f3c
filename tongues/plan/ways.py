"""The ways of spending compute: what each turns so many FLOPs into, by its law."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tongues.laws import Law, allocate
from tongues.plan.amounts import Base
from tongues.plan.laws import OF_COMPUTE
from tongues.plan.search import first_reached, lowest, reached_in_draws

__all__ = ["Way"]

_SMALLEST = 10.0  # parameters, and tokens, that a search considers
_COMPUTE = (math.log(1e6), math.log(1e40))  # FLOPs within which a loss is looked for
_FACTOR = math.log(1e4)  # how far from the point estimate a draw is looked for
_POINTS = 161


@dataclass(frozen=True, slots=True)
class Way:
    """One way of training: a law, from where, with how much replay, and what is settled.

    law: of loss by N and D, or by C alone.
    base: the checkpoint to continue from, which settles N.
    replay: share of the tokens that are source-language text.
    params, tokens: N and D where they are settled; otherwise they follow from the compute.
    unique: tokens of different target text there are; more must be read again.
    R_D: decay of the value of repeats, for laws that do not know it themselves.
    borrowed: the published law that the value of repeats was taken from, if it was.
    """

    name: str
    strategy: str
    law_name: str
    law: Law
    base: Base | None = None
    replay: float = 0.0
    params: float | None = None
    tokens: float | None = None
    unique: float = math.inf
    R_D: float = math.inf
    borrowed: str = ""

    @property
    def of_compute(self) -> bool:
        """Whether its law knows compute alone, and neither size nor tokens."""
        return self.law.form in OF_COMPUTE

    @property
    def settled(self) -> bool:
        """Whether its size is given and not chosen."""
        return self.params is not None or self.tokens is not None

    def sizes(self, flops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Parameters and tokens, replay included, that `flops` go into; NaN where unknown.

        Settled tokens are not exceeded, even where compute is left over.
        """
        flops = np.asarray(flops, dtype=float)
        if self.of_compute:
            return np.full_like(flops, np.nan), np.full_like(flops, np.nan)
        if self.params is not None:
            N = np.full_like(flops, self.params)
            return N, np.minimum(flops / (6.0 * N), self.tokens or math.inf)
        if self.tokens is not None:
            return flops / (6.0 * self.tokens), np.full_like(flops, self.tokens)
        N = self._best_size(flops)
        return N, flops / (6.0 * N)

    def loss(self, flops: np.ndarray) -> np.ndarray:
        """The loss on the target language, nats per token; NaN where there is no best size."""
        return self._loss(self.law.loss, flops, *self.sizes(flops))

    def loss_draws(self, flops: np.ndarray) -> np.ndarray:
        """The same for every draw of the law, at the sizes of the point estimate."""
        return self._loss(self.law.loss_draws, flops, *self.sizes(flops))

    def loss_of(self, N: np.ndarray, D: np.ndarray) -> np.ndarray:
        """The loss of N parameters on D tokens, replay included."""
        return self._loss(self.law.loss, 6.0 * N * D, N, D)

    def compute(self, loss: float) -> float:
        """The fewest FLOPs that reach a loss; infinite where none do."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return float(np.exp(first_reached(lambda x: self.loss(np.exp(x)), loss, *_COMPUTE)))

    def compute_draws(self, loss: np.ndarray | float, near: float) -> np.ndarray:
        """The fewest FLOPs in every draw, to one loss or to one for each draw.

        `near` is about where to look: 10,000 times more counts as infinite. Of more draws than
        losses, or losses than draws, those without a partner are left out.
        """
        grid = np.linspace(math.log(near) - _FACTOR, math.log(near) + _FACTOR, _POINTS)
        losses = self.loss_draws(np.exp(grid))
        count = min(len(losses), np.size(loss)) if np.ndim(loss) else len(losses)
        level = np.broadcast_to(loss, count) if not np.ndim(loss) else np.asarray(loss)[:count]
        return np.exp(reached_in_draws(losses[:count], grid, level))

    def _loss(
        self, law: Callable[..., np.ndarray], flops: np.ndarray, N: np.ndarray, D: np.ndarray
    ) -> np.ndarray:
        if self.of_compute:
            return law(C=(1.0 - self.replay) * flops)
        target = (1.0 - self.replay) * D
        if self.law.form == "data-constrained":
            return law(N, target, U=self.unique)
        return law(N, self._worth(target))

    def _worth(self, tokens: np.ndarray) -> np.ndarray:
        """The unseen tokens that would teach as much as these, some of them read again."""
        if math.isinf(self.unique):
            return tokens
        again = np.maximum(tokens / self.unique - 1.0, 0.0)
        return np.minimum(tokens, self.unique) + self.unique * self.R_D * -np.expm1(
            -again / self.R_D
        )

    def _best_size(self, flops: np.ndarray) -> np.ndarray:
        """The size that learns most from `flops`; NaN where every larger or smaller one is better.

        In closed form where no text is read again; a numeric search otherwise.
        """
        best = allocate(self.law)
        if best is not None:
            N = best.N_coef * ((1.0 - self.replay) * flops) ** best.a
            if np.all((1.0 - self.replay) * flops <= 6.0 * N * self.unique):
                return N
        C = np.atleast_1d(flops)[:, None]

        def loss(x: np.ndarray) -> np.ndarray:
            N = np.exp(x)
            return self.loss_of(N, C / (6.0 * N))

        low = np.full(len(C), math.log(_SMALLEST))
        high = np.maximum(np.log(C[:, 0] / (6.0 * _SMALLEST)), low + 1e-6)
        return np.exp(lowest(loss, low, high)).reshape(np.shape(flops))
