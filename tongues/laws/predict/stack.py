"""How far each of several forms is to be trusted: by what it predicts of the largest runs.

Each form is learned from the runs of less compute, and asked for those of the most, which it has
not seen. Weights are those with which the mixture of all gives these runs the highest density
(stacking: Yao et al. 2018), drawn towards equal ones, as a few runs show little.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tongues.laws.forms import FORMS, Form
from tongues.laws.predict.prediction import learn_form, places_of, spent
from tongues.laws.rows import Rows

Known = tuple[Mapping[str, float], Mapping[str, np.ndarray]]

STACKED = ("chinchilla", "extended", "skaling", "farseer")
_SHOWN = ("chinchilla", "extended")
_HELD = 0.2  # at most this share of the runs is held out, but one at least
_LIKE = 0.02  # budgets nearer than this are one
_FEWEST = 3  # to weigh forms by
_LEFT = 7  # runs to weigh forms on, and
_SIZES = 3  # sizes, to learn from
_COUNTED = 10.0  # held-out runs beyond which more show no more: they are all at one end
_EVEN = 1.0  # runs' worth of belief that all forms are as good
_STRAY = 0.01  # of the density is a tenfold wider, so that one stray run decides nothing
_SLIGHT = 0.05  # a smaller weight is none
_DRAWS = 4000  # weights of forms that are nearly as good follow the noise of the draws
_ROUNDS = 200


def hold_out_compute(rows: Rows, fewest: int = 1) -> np.ndarray | None:
    """Which rows are of the runs of most compute; None where too few sizes would be left.

    Runs are held out whole, but for laws of compute alone, where points of an envelope are.
    """
    compute = spent(rows.variables)
    if "C" not in rows.variables:
        of_run = np.zeros(rows.n_runs)
        np.maximum.at(of_run, rows.run, compute)
        compute = np.exp(_LIKE * np.round(np.log(of_run[rows.run]) / _LIKE))
    levels = np.unique(compute)
    runs = [len(np.unique(rows.run[compute >= level])) for level in levels]
    most = max(fewest, _HELD * rows.n_runs, runs[-1])
    held = compute >= levels[np.flatnonzero(np.array(runs) <= most)[0]]
    sizes = rows.variables.get("N", compute)
    return held if len(np.unique(sizes[~held])) >= _SIZES else None


def last_held_out(rows: Rows) -> tuple[Rows, Rows] | None:
    """The rows to learn from, and the last of each run of most compute; None where too few."""
    held = hold_out_compute(rows, _FEWEST)
    if held is None or len(np.unique(rows.run[~held])) < _LEFT:
        return None
    large = rows.take(held)
    last = [np.flatnonzero(large.run == run)[-1] for run in range(large.n_runs)]
    return rows.take(~held), large.take(np.array(last))


def weigh_forms(
    rows: Rows,
    names: Sequence[str] = STACKED,
    seed: int = 0,
    known: Mapping[str, Known] | None = None,
) -> dict[str, float]:
    """The weight of each form that counts, the largest first; they sum to 1.

    Where the runs are too few to compare, the simple ones among them count alike. known: parameters
    and draws by form, for those of which `learn_form` needs some.
    """
    parts = last_held_out(rows)
    if parts is None:
        simple = [name for name in names if name in _SHOWN] or names
        return {name: 1.0 / len(simple) for name in simple}
    small, large = parts
    own = {name: (known or {}).get(name, ({}, {})) for name in names}
    densities = np.stack(
        [_density(FORMS.find(name), own[name], small, large, seed) for name in names], axis=-1
    )
    weights = np.full(len(names), 1.0 / len(names))
    count = min(float(len(densities)), _COUNTED)
    for _ in range(_ROUNDS):
        shares = weights * densities
        shares /= shares.sum(-1, keepdims=True)
        weights = count * shares.mean(0) + _EVEN / len(names)
        weights /= weights.sum()
    weights = np.where(weights < _SLIGHT, 0.0, weights)
    weights /= weights.sum()
    found = sorted(zip(names, weights.tolist(), strict=True), key=lambda pair: -pair[1])
    return {name: weight for name, weight in found if weight > 0}


def leading(stack: Mapping[str, float]) -> str:
    """The form whose parameters and best sizes are shown: the simplest that is half as good.

    Of sums of power terms alone, whose resamples take a second; the others predict with it.
    """
    most = max(stack.get(name, 0.0) for name in _SHOWN)
    return next(name for name in _SHOWN if stack.get(name, 0.0) >= most / 2)


def _density(form: Form, known: Known, small: Rows, large: Rows, seed: int) -> np.ndarray:
    """The predictive density of the log of each held-out loss."""
    belief = learn_form(form, small, *known, draws=_DRAWS, seed=seed)
    places = places_of(form, large.variables)
    logs = np.log(belief.run(places, seed))
    low, middle, high = np.percentile(logs, (16.0, 50.0, 84.0), axis=0)
    wide, off = (high - low) / 2.0, np.log(large.loss) - middle

    def normal(wide: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * (off / wide) ** 2) / wide

    return (1.0 - _STRAY) * normal(wide) + _STRAY * normal(10.0 * wide) + 1e-300
