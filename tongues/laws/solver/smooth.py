"""A curved law over rows; its coordinates are the logs of the parameters.

Slopes come from a complex step, exact to rounding.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tongues.laws.forms import CurvedForm
from tongues.laws.solver.descent import FitProblem, objective

_STARTS = 36  # the best of a form's grid; chosen: each costs a descent
_STEP = 1e-30  # of the complex derivative; nothing is subtracted, so it can be this small


@dataclass(frozen=True, slots=True, kw_only=True)
class _Smooth(FitProblem):
    """A curved law over rows; its coordinates are the logs of the parameters."""

    form: CurvedForm
    fixed: Mapping[str, float]

    def context(self, taken: Mapping[str, np.ndarray]) -> np.ndarray:
        columns = [np.atleast_1d(taken[name]) for name in self.form.taken_names]
        return np.stack(columns, axis=-1) if columns else np.zeros((1, 0))

    def predict(self, theta: np.ndarray, context: np.ndarray) -> np.ndarray:
        free = {name: value[:, None] for name, value in self.params(theta).items()}
        taken = dict(zip(self.form.taken_names, context.T[..., None], strict=True))
        with np.errstate(all="ignore"):  # a step too far is not taken
            return np.log(self.form.curve(free | taken, self.variables))

    def look(self, theta: np.ndarray, context: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slopes = []
        value = self.predict(theta, context)
        for index in range(len(self.names)):
            moved = theta.astype(complex)
            moved[:, index] += 1j * _STEP
            slopes.append(np.imag(self.predict(moved, context)) / _STEP)
        return value, np.stack(slopes, axis=-1)

    def gradient(self, inner: np.ndarray, pull: np.ndarray) -> np.ndarray:
        return (pull[:, None] @ inner)[:, 0]

    def curvature(self, inner: np.ndarray, pull: np.ndarray, outer: np.ndarray) -> np.ndarray:
        # the bend, small against this when residuals are, is left out
        return (inner * outer[..., None]).swapaxes(1, 2) @ inner

    def sizes(self, inner: np.ndarray, pull: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((len(pull), 0, len(self.names))), np.zeros((len(pull), 0))

    def starts(self, weights: np.ndarray, context: np.ndarray) -> np.ndarray:
        loss = np.exp(self.log_loss)
        full = np.log(self.form.starts(self.variables, loss))
        keep = [self.form.free.index(name) for name in self.names]
        theta = np.unique(np.clip(full[:, keep], self.low, self.high), axis=0)
        residual = self.predict(theta, context) - self.log_loss
        return theta[np.argsort(objective(residual, weights, self.delta))[:_STARTS]]

    def params(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        held = {name: np.full(theta.shape[:-1], value) for name, value in self.fixed.items()}
        return dict(zip(self.names, np.moveaxis(np.exp(theta), -1, 0), strict=True)) | held


def pose_smooth(
    form: CurvedForm,
    variables: Mapping[str, np.ndarray],
    loss: np.ndarray,
    fixed: Mapping[str, float],
    delta: float,
) -> _Smooth:
    """Arrange rows for a curved law."""
    names = tuple(name for name in form.free if name not in fixed)
    spans = form.spans(variables, loss)
    low, high = np.log(np.array([spans[name] for name in names])).T
    return _Smooth(
        form=form,
        names=names,
        log_loss=np.log(loss),
        variables=variables,
        fixed=fixed,
        low=low,
        high=high,
        delta=delta,
    )
