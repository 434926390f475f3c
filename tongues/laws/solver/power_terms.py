"""A sum of power terms over rows.

The logarithm of each term is linear in the parameters (log coefficients and exponents), so slopes
and curvature are exact and cheap. Logs are centred on the rows, which takes the Hessian's condition
number from about 1e13 to 1e4; a term whose coefficient is held at a value is left as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from tongues.laws.forms import PowerForm
from tongues.laws.solver.descent import FitProblem, emphasis, objective, solve_free

_FLOOR = 1e-6  # the smallest a term may be in units of the lowest loss
_REWEIGHTINGS = 4  # of least squares towards Huber, to rank starts; the descent does the rest
_ZONES = 3  # of each exponent's grid, every combination with a start of its own
_NOTHING = -1e4  # the log of a coefficient fixed at zero: its term is exactly 0
_MOST_FINE = 2  # exponents on the whole grid; of more, every other value does


@dataclass(frozen=True, slots=True, kw_only=True)
class _PowerTerms(FitProblem):
    """A sum of power terms over rows.

    design: the derivative of term t's log at row r by free coordinate p, (terms, rows, free).
    offset: the part of that log no free coordinate moves, (terms, rows).
    owner: the coordinate that scales each term, −1 where its coefficient is fixed.
    pairs: each two terms once, and themselves, (2, pairs).
    products: for each pair and row the two terms' derivatives multiplied, both ways round,
        (pairs x rows, free x free).
    centre: the mean log of each variable, by name. fixed: parameters held at a value.
    """

    form: PowerForm
    design: np.ndarray
    offset: np.ndarray
    owner: np.ndarray
    pairs: np.ndarray
    products: np.ndarray
    grid: tuple[tuple[float, ...], ...]
    centre: Mapping[str, float]
    fixed: Mapping[str, float]

    def context(self, taken: Mapping[str, np.ndarray]) -> np.ndarray:
        columns = {name: np.reshape(value, (-1, 1)) for name, value in taken.items()}
        return np.atleast_2d(self.form.known(columns, self.variables))

    def predict(self, theta: np.ndarray, context: np.ndarray) -> np.ndarray:
        return np.log(self._values(theta).sum(1) + context)

    def look(self, theta: np.ndarray, context: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value = self._values(theta)
        total = value.sum(1) + context
        value /= total[:, None]
        return np.log(total), value

    def gradient(self, inner: np.ndarray, pull: np.ndarray) -> np.ndarray:
        flat = (pull[:, None] * inner).reshape(len(inner), -1)
        return flat @ self.design.reshape(-1, len(self.names))

    def curvature(self, inner: np.ndarray, pull: np.ndarray, outer: np.ndarray) -> np.ndarray:
        first, second = self.pairs
        mixed = inner[:, first] * inner[:, second] * (outer - pull)[:, None]
        mixed[:, first == second] += inner * pull[:, None]
        size = len(self.names)
        return (mixed.reshape(len(inner), -1) @ self.products).reshape(-1, size, size)

    def sizes(self, inner: np.ndarray, pull: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scales = len(self.names) - len(self.grid)
        member = (self.owner == np.arange(scales)[:, None]).astype(float)
        moves = member @ (inner.swapaxes(0, 1) @ self.design).swapaxes(0, 1)
        whole = inner.sum(2) @ member.T
        slope = (inner @ pull[:, :, None])[:, :, 0] @ member.T
        return moves / whole[:, :, None], slope

    def starts(self, weights: np.ndarray, context: np.ndarray) -> np.ndarray:
        """Of a grid over the exponents, the best point in each third of each.

        The best of all would often be in one valley: where a term is small its exponent barely
        matters, yet the optimum has it. Coefficients are solved linearly at each point.
        """
        scales = len(self.names) - len(self.grid)
        theta = np.array([(0.0,) * scales + point for point in product(*self.grid)])
        loss = np.exp(self.log_loss)
        values = self._values(theta) / loss
        columns = np.zeros((len(theta), scales, len(loss)))
        for j in range(scales):
            columns[:, j] = values[:, self.owner == j].sum(1)
        known = context / loss + values[:, self.owner < 0].sum(1)
        target = 1.0 - known
        coefficients = np.ones((len(theta), scales))
        residual = np.log(known) if not scales else np.zeros((len(theta), len(loss)))
        floor, ceiling = np.exp(self.low[:scales]), np.exp(self.high[:scales])
        for _ in range(_REWEIGHTINGS if scales else 0):
            weighted = columns * (weights * emphasis(residual, self.delta))[:, None]
            matrix = weighted @ columns.swapaxes(1, 2)
            vector = (weighted @ target[..., None])[..., 0]
            every = np.ones_like(vector, dtype=bool)
            # a negative coefficient is dropped once; the descent does the rest
            above = solve_free(matrix, vector, every) > 0
            coefficients = np.clip(solve_free(matrix, vector * above, above), floor, ceiling)
            residual = np.log((coefficients[:, None] @ columns)[:, 0] + known)
        theta[:, :scales] = np.log(coefficients)
        thirds = [[_ZONES * i // len(axis) for i in range(len(axis))] for axis in self.grid]
        zones, best = list(product(*thirds)), dict[tuple[int, ...], int]()
        for index in np.argsort(objective(residual, weights, self.delta)):
            best.setdefault(zones[index], index)
        return theta[list(best.values())]

    def params(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        values = {name: np.full(theta.shape[:-1], value) for name, value in self.fixed.items()}
        values |= dict(zip(self.names, np.moveaxis(theta, -1, 0), strict=True))
        for term in self.form.fitted:
            if term.coefficient not in self.fixed:
                shift = sum(values[e.name] * self.centre[e.variable] for e in term.exponents)
                values[term.coefficient] = np.exp(values[term.coefficient] + shift)
        return values

    def _values(self, theta: np.ndarray) -> np.ndarray:
        terms, rows, size = self.design.shape
        logs = theta @ self.design.reshape(-1, size).T + self.offset.ravel()
        return np.exp(logs).reshape(-1, terms, rows)


def pose_terms(
    form: PowerForm,
    variables: Mapping[str, np.ndarray],
    loss: np.ndarray,
    fixed: Mapping[str, float],
    delta: float,
) -> _PowerTerms:
    """Arrange rows for a sum of power terms."""
    of_fit = dict.fromkeys(e.variable for term in form.fitted for e in term.exponents)
    logs = {name: np.log(variables[name]) for name in of_fit}
    centre = {name: float(values.mean()) for name, values in logs.items()}
    names = tuple(name for name in form.free if name not in fixed)
    design = np.zeros((len(form.fitted), len(loss), len(names)))
    offset = np.zeros(design.shape[:2])
    for term, block, part in zip(form.fitted, design, offset, strict=True):
        held = term.coefficient in fixed
        if held:
            value = fixed[term.coefficient]
            part += np.log(value) if value > 0 else _NOTHING
        else:
            block[:, names.index(term.coefficient)] = 1.0
        for e in term.exponents:
            column = logs[e.variable] - (0.0 if held else centre[e.variable])
            if e.name in fixed:
                part -= fixed[e.name] * column
            else:
                block[:, names.index(e.name)] -= column
    scales = [name for name in names if name not in form.exponents]
    powers = [form.powers[name] for name in names if name in form.exponents]
    low, high = np.log(loss.min() * _FLOOR), np.log(loss.max() / _FLOOR)
    coefficients = [term.coefficient for term in form.fitted]
    pairs = np.array(np.triu_indices(len(design)))
    products = design[pairs[0]][..., :, None] * design[pairs[1]][..., None, :]
    apart = pairs[0] != pairs[1]
    products[apart] += products[apart].swapaxes(2, 3)
    step = slice(1, None, 2) if len(powers) > _MOST_FINE else slice(None)
    return _PowerTerms(
        form=form,
        names=names,
        log_loss=np.log(loss),
        variables=variables,
        design=design,
        offset=offset,
        owner=np.array([scales.index(name) if name in scales else -1 for name in coefficients]),
        pairs=pairs,
        products=products.reshape(-1, len(names) ** 2),
        grid=tuple(power.grid[step] for power in powers),
        centre=centre,
        fixed=fixed,
        low=np.array([low] * len(scales) + [power.low for power in powers]),
        high=np.array([high] * len(scales) + [power.high for power in powers]),
        delta=delta,
    )
