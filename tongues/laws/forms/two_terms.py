"""Laws with one term of size and one of tokens: optimal sizes and inverses in closed form."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tongues.laws.forms.form import Values

__all__ = ["TwoTerms"]

_ENDLESS = 600.0  # a log coefficient beyond which no number holds it
_HALVINGS = 80  # of an interval of log sizes: to beyond what rounding shows
_LARGEST = 300.0  # natural log of the largest size that is looked at


@dataclass(frozen=True, slots=True)
class TwoTerms:
    """`E + A/N^alpha + B/(D^beta N^gamma)`, whatever its parameters are called.

    E, A and B are the names of the coefficients, alpha, beta and gamma those of the exponents;
    a law may have no floor and no joint exponent.
    """

    E: str | None = "E"
    A: str = "A"
    alpha: str = "alpha"
    B: str = "B"
    beta: str = "beta"
    gamma: str | None = None

    def interior(self, params: Values) -> np.ndarray:
        """Where both exponents are above the joint one."""
        _, A, alpha, B, beta, gamma = self._read(params)
        apart = (beta > gamma) & (alpha > gamma) & (A > 0) & (B > 0)
        with np.errstate(all="ignore"):
            gain = np.log(alpha * A / ((beta - gamma) * B)) / (alpha + beta - gamma)
        return apart & (np.abs(gain) < _ENDLESS)

    def why_not(self, params: Mapping[str, float]) -> str:
        """Which exponent is too small, or which term is missing."""
        are = ", ".join(f"{name} {params[name]:.3g}" for name in params if name != self.E)
        gamma = self.gamma or "gamma"
        return (
            f"{self.beta} and {self.alpha} must both exceed {gamma}, and {self.A} and "
            f"{self.B} be more than nothing, but here they are {are}"
        )

    def sizes(self, params: Values) -> dict[str, np.ndarray]:
        """Where the slope along C = 6 N D is zero."""
        _, A, alpha, B, beta, gamma = self._read(params)
        total = alpha + beta - gamma
        gain = (alpha * A / ((beta - gamma) * B)) ** (1.0 / total)
        a, b = beta / total, (alpha - gamma) / total
        return {"N_coef": gain * 6.0**-a, "a": a, "D_coef": 6.0**-b / gain, "b": b}

    def frontier(self, params: Values) -> dict[str, np.ndarray]:
        """Both terms fall as the same power of C along the best sizes, so it is exact."""
        E, A, alpha, B, beta, gamma = self._read(params)
        best = self.sizes(params)
        N = np.asarray(best["N_coef"])
        return {
            "E": E,
            "A": A * N**-alpha + B * (6.0 * N) ** beta * N**-gamma,
            "gamma": alpha * np.asarray(best["a"]),
        }

    def tokens(self, params: Values, N: np.ndarray, loss: np.ndarray) -> np.ndarray:
        """In closed form."""
        E, A, alpha, B, beta, gamma = self._read(params)
        left = np.maximum(loss - E - A * N**-alpha, 0.0)
        with np.errstate(divide="ignore"):
            return (left / (B * N**-gamma)) ** (-1.0 / beta)

    def parameters(self, params: Values, D: np.ndarray, loss: np.ndarray) -> np.ndarray:
        """In closed form without a joint exponent or token term, else by halving log sizes."""
        E, A, alpha, B, beta, gamma = self._read(params)
        above = np.maximum(loss - E, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(np.isinf(D), 0.0, B * np.asarray(D, float) ** -beta)
            if not np.any(gamma * scale):
                return (A / np.maximum(above - scale, 0.0)) ** (1.0 / alpha)
            low = np.zeros(np.broadcast(above, scale, A, gamma).shape)
            high = np.full(low.shape, _LARGEST)
            # of a joint exponent below zero the loss rises again: only its falling part counts
            turn = np.log(alpha * A / (-gamma * scale)) / (alpha - gamma)
            high = np.where(gamma < 0, np.minimum(high, turn), high)
        never = A * np.exp(-alpha * high) + scale * np.exp(-gamma * high) > above
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            reached = A * np.exp(-alpha * middle) + scale * np.exp(-gamma * middle) <= above
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return np.where(never, np.inf, np.exp(high))

    def _read(self, params: Values) -> tuple[np.ndarray, ...]:
        """E, A, alpha, B, beta and gamma, zero where there is none."""
        names = (self.E, self.A, self.alpha, self.B, self.beta, self.gamma)
        return tuple(np.asarray(params[name] if name else 0.0) for name in names)
