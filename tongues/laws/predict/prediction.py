"""From a fitted law to what one more run would end at.

Three things add up, in the logarithm of the loss: what the runs leave open about the law's
parameters, the error of its form (a drift that the runs hold and that grows beyond them), and the
scatter of a single run. How large each is is learned from the law's own runs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tongues.errors import UserError
from tongues.estimate import Estimate
from tongues.laws.forms import FORMS, Form
from tongues.laws.predict.belief import Belief, Block, Places, learn
from tongues.laws.predict.drift import DriftWalks
from tongues.laws.predict.prior import Chart, Scale, spread_of_form
from tongues.laws.rows import Rows
from tongues.randomness import derive_seed

if TYPE_CHECKING:
    from tongues.laws.law import Law


Array = np.ndarray
# by `benchmarks/extrapolation.py`
_SCATTER = (math.log(0.004), 1.0)  # of log loss: middle and deviation of its logarithm
_DRIFT = (math.log(0.04), 0.5)  # the same, over a tenfold of compute
_ROLE = "loss"
_WALKERS = 400
_FARTHEST = 18.0  # log10 of the FLOPs from which a law drifts whose runs nobody knows


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Losses at some places, nats per token.

    point: the median of what one run there ends at. low, high: its 95 % predictive interval, of a
        single run: not the interval of the law's curve, which is narrower.
    draws: of one run at each place, (draws, places). A row is one law with its error, so that
        places are compared draw by draw.
    expected: the same without the scatter of a single run.
    """

    point: Array
    low: Array
    high: Array
    draws: Array
    expected: Array

    @property
    def estimates(self) -> list[Estimate]:
        """Each with its predictive interval."""
        rows = zip(self.point.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        return [Estimate(*row, unit="nats/token", method="predictive") for row in rows]


@dataclass(frozen=True, slots=True, eq=False)
class Predictor:
    """Draws of whole laws with their errors, to be evaluated anywhere: the same draws every time.

    parts: what is believed of each form, with draws in proportion to the form's weight.
    longest: tokens of the longest run behind it, from where forms with a `stray` widen.
    """

    parts: tuple[tuple[Form, Belief], ...]
    seed: int
    longest: float | None = None

    def __call__(
        self, N: ArrayLike | None = None, D: ArrayLike | None = None, **others: ArrayLike
    ) -> Prediction:
        """What a run would end at; variables are the form's, as in `Law.loss`."""
        draws, expected = self.draws(N, D, **others)
        low, point, high = np.percentile(draws, (2.5, 50.0, 97.5), axis=0)
        return Prediction(point, low, high, draws, expected)

    def draws(
        self, N: ArrayLike | None = None, D: ArrayLike | None = None, **others: ArrayLike
    ) -> tuple[Array, Array]:
        """Draws of a prediction, of one run and without its scatter, where no more is asked."""
        given = {"N": N, "D": D} | others
        expected = np.concatenate([self._expected(*part, given) for part in self.parts])
        scatter = np.concatenate([belief.scatter for _, belief in self.parts])
        noise = np.random.default_rng(self.seed).standard_normal(expected.shape)
        return expected * np.exp(scatter[:, None] * noise), expected

    def _expected(self, form: Form, belief: Belief, given: Mapping[str, ArrayLike | None]) -> Array:
        """The losses of every draw; beyond the longest run, with what is lost there strayed."""
        places = places_of(form, given)
        expected = belief.expected(places)
        if not (form.stray and self.longest):
            return expected
        D = places.variables["D"]
        end = belief.expected(places_of(form, dict(given) | {"D": np.minimum(D, self.longest)}))
        gone = np.maximum(np.log(D / self.longest) / math.log(4.0), 0.0)
        one = np.random.default_rng((self.seed, 1)).standard_normal((len(expected), 1))
        return end * (expected / end) ** np.exp(form.stray * np.sqrt(gone) * one)


def predictor_of(law: "Law", draws: int, seed: int) -> Predictor:
    """Learn the predictive distribution of a law from its runs, or of every form of its stack.

    A law from print has no runs. Its draws, if it has any, are then those of its parameters, and
    its error begins at the end of its range.
    """
    seed = derive_seed(seed, "law", law.form, law.strategy, law.target)
    rows = law.rows
    if rows is None:
        return Predictor(((law.equation, _of_print(law, draws, seed)),), seed)
    parts: list[tuple[Form, Belief]] = []
    left, share = draws, 1.0
    for name, weight in (law.stack or {law.form: 1.0}).items():
        count = round(left * min(weight / share, 1.0))
        left, share = left - count, max(share - weight, 1e-9)
        own = (law.params, law.draws) if name == law.form else ({}, {})
        if count:
            form = FORMS.find(name)
            parts.append((form, learn_form(form, rows, *own, draws=count, seed=seed)))
    D = rows.variables.get("D")
    return Predictor(tuple(parts), seed, None if D is None else float(D.max()))


def learn_form(
    form: Form,
    rows: Rows,
    params: Mapping[str, float],
    params_draws: Mapping[str, Array],
    *,
    draws: int,
    seed: int,
) -> Belief:
    """What the rows leave to believe of a form.

    params: of a fit, about which those are spread that neither term nor `spread` of the form
        explains. params_draws: those of taken parameters show how sure the base is.
    """
    counts = np.bincount(rows.run)
    places = places_of(form, rows.variables, 1.0 / counts[rows.run])
    middle = {n: float(np.exp(np.log(v[v > 0]).mean())) for n, v in rows.variables.items()}
    chart = Chart(form, Scale(middle, float(np.exp(np.log(rows.loss).mean()))))
    spread = spread_of_form(chart, params, params_draws)
    block = Block(
        {_ROLE: form.name}, spread.middle, spread.root, spread.params_of, _SCATTER, _DRIFT
    )
    walkers = min(draws, _WALKERS)
    walks = _walks(places)
    return learn(block, [(places, rows.loss)], walks, draws=draws, walkers=walkers, seed=seed)


def _of_print(law: "Law", draws: int, seed: int) -> Belief:
    """What is believed of a law without its runs."""
    of = {
        name: np.resize(law.draws.get(name, np.array([value])), draws)
        for name, value in law.params.items()
    }

    def params_of(role: str, z: Array) -> dict[str, Array]:
        at = np.rint(z[:, 0]).astype(int)
        return {name: values[at] for name, values in of.items()}

    block = Block({_ROLE: law.form}, np.zeros(1), np.zeros((1, 1)), params_of, _SCATTER, _DRIFT)
    highest = {name: np.array([high]) for name, (_, high) in law.range.items()}
    known = {"C"} <= highest.keys() or {"N", "D"} <= highest.keys()
    start = float(np.log10(spent(highest)[0])) if known else _FARTHEST
    belief = learn(block, [], DriftWalks(start), draws=draws, seed=seed)
    index = np.arange(draws)[:, None].astype(float)
    return Belief(block, belief.walks, index, belief.scatter, belief.drift, belief.strayed)


def _walks(places: Places) -> DriftWalks:
    ratio = None
    if {"N", "D"} <= places.variables.keys():
        ratio = float(np.median(np.log10(places.variables["D"] / places.variables["N"])))
    start = float(np.log10(places.flops.min()))
    return DriftWalks(start, ratio, experts="k" in places.variables)


def places_of(
    form: Form, given: Mapping[str, ArrayLike | None], weights: Array | None = None
) -> Places:
    """Where a law is evaluated; a UserError names what is missing. weights: as of `Places`."""
    known = {name: given.get(name) for name in form.variables}
    if missing := [name for name, value in known.items() if value is None]:
        raise UserError(f"the {form.name} law needs {' and '.join(missing)}", where="predict")
    arrays = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in known.values()))
    variables = {name: np.ravel(v) for name, v in zip(known, arrays, strict=True)}
    return Places(_ROLE, variables, spent(variables), np.zeros(0) if weights is None else weights)


def spent(variables: Mapping[str, Array]) -> Array:
    """The FLOPs of runs, or what grows with them where sizes or tokens are not known."""
    if "C" in variables:
        return variables["C"]
    return 6.0 * variables.get("N", np.ones(1)) * variables.get("D", np.ones(1))
