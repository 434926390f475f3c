"""What the solver needs to know of a law over rows: its log loss, slopes and curvature."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tongues.laws.forms import Form

__all__ = ["FitProblem", "emphasis", "objective", "solve_free"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FitProblem(ABC):
    """Rows and a law, laid out for batched algebra; arrays lead with an axis of starts or draws.

    names: the parameters to be found, the free coordinates in order; low, high: their bounds.
    log_loss: what was measured, a row each. delta: the Huber threshold, in log loss.
    spread, shift: from free to full coordinates, `spread @ free + shift`.
    """

    form: Form
    names: tuple[str, ...]
    log_loss: np.ndarray
    variables: Mapping[str, np.ndarray]
    spread: np.ndarray
    shift: np.ndarray
    low: np.ndarray
    high: np.ndarray
    delta: float

    @abstractmethod
    def context(self, taken: Mapping[str, np.ndarray]) -> np.ndarray:
        """What parameters taken from a base mean for the rows, (1 or draws, …)."""

    @abstractmethod
    def predict(self, theta: np.ndarray, context: np.ndarray) -> np.ndarray:
        """The log of the predicted loss."""

    @abstractmethod
    def look(self, theta: np.ndarray, context: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The log of the predicted loss, and what slopes are made of."""

    @abstractmethod
    def gradient(self, inner: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """The sum over rows of `pull` times the slope of the log prediction."""

    @abstractmethod
    def curvature(self, inner: np.ndarray, pull: np.ndarray, outer: np.ndarray) -> np.ndarray:
        """The sum over rows of `outer` times slope by slope, plus `pull` times the bend."""

    @abstractmethod
    def sizes(self, inner: np.ndarray, pull: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How the log size of each scaled part moves with the coordinates, and its gradient.

        A size is a coefficient in the units of the rows where it matters; the first coordinates
        are their logs. None where a law has no linear part.
        """

    @abstractmethod
    def starts(self, weights: np.ndarray, context: np.ndarray) -> np.ndarray:
        """Free coordinates worth starting from, (starts, coordinates)."""

    @abstractmethod
    def params(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters by name, as a user knows them, from free coordinates (last axis)."""

    @abstractmethod
    def free(self, params: Mapping[str, float]) -> np.ndarray:
        """The free coordinates of parameters by name."""

    def slope(
        self, theta: np.ndarray, inner: np.ndarray, pull: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The gradient, zero where it presses against a bound, and which coordinates may move."""
        gradient = self.gradient(inner, pull)
        low = (theta <= self.low) & (gradient > 0)
        free = ~(low | ((theta >= self.high) & (gradient < 0)))
        return gradient * free, free

    def hessian(
        self, inner: np.ndarray, residual: np.ndarray, weights: np.ndarray, damping: np.ndarray
    ) -> np.ndarray:
        """The Hessian plus `damping` times that of the re-weighted least squares."""
        outer = weights * (np.abs(residual) < self.delta)
        outer = outer + damping[:, None] * weights * emphasis(residual, self.delta)
        return self.curvature(inner, self.pull(residual, weights), outer)

    def pull(self, residual: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The slope of each row's Huber loss."""
        return weights * np.clip(residual, -self.delta, self.delta)


def objective(residual: np.ndarray, weights: np.ndarray, delta: float) -> np.ndarray:
    """The sum of Huber losses."""
    clipped = np.clip(residual, -delta, delta)
    return (weights * clipped * (residual - 0.5 * clipped)).sum(-1)


def emphasis(residual: np.ndarray, delta: float) -> np.ndarray:
    """The weights that make least squares touch the Huber loss from above."""
    return delta / np.maximum(np.abs(residual), delta)


def solve_free(matrix: np.ndarray, vector: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Solve for the free parameters, the others zero; a whisper of ridge keeps LAPACK content."""
    both = free[:, :, None] & free[:, None, :]
    scale = np.abs(matrix).max((1, 2), keepdims=True) + np.finfo(float).tiny
    matrix = np.where(both, matrix / scale, 0.0)
    matrix += np.where(free, 1e-14, 1.0)[:, :, None] * np.eye(vector.shape[1])
    return np.linalg.solve(matrix, (vector * free)[..., None] / scale)[..., 0]
