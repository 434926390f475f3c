"""The advice of a pilot: the options for the real run, which to take, and its losses."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.models import SHAPES, of_folder, of_shape
from tongues.plan import BaseCheckpoint, Known, Option, Plan, Question, gather_laws, make_plan
from tongues.plan.bases import known_bases
from tongues.plan.strategies import KEPT
from tongues.recipe import Recipe
from tongues.runs import read_run
from tongues.study.pilot.blocks import PilotBelief, Point
from tongues.study.pilot.candidates import PilotBudget, base_budget
from tongues.train.base import find_base, model_folder
from tongues.train.rules import nearest_shape

__all__ = ["PilotAdvice", "Settled", "advise_run", "around", "first_guess", "settle"]

_USUAL = 20.0  # tokens per parameter, before any run
_SOME_REPLAY = 0.2  # where no share keeps the source
_FIRST_REPLAY = 0.05  # before any run
_AROUND = (1 / 9, 1 / 3, 3.0, 9.0)  # times the size, at which the law must hold about as well
_ROUNDS = 2  # the laws are those at the real run, whose size follows from them
_LAWS = (("target", "scratch"), ("target", "cpt"), ("forgetting", "forgetting"))
Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Settled:
    """What the recipe leaves no choice about: the size, and the base to continue from."""

    params: float | None
    base: BaseCheckpoint | None


@dataclass(frozen=True, slots=True, eq=False)
class PilotAdvice:
    """The planner's options by the pilot's laws, and what the real run will end at.

    points: the real run by role: `scratch`, `cpt`, its loss on the source (`forgetting`), and its
    base (`source`). predicted: the loss of one run there in every draw, nats per token. share: of
    draws in which continuing ends lower than training from scratch. kept: whether some share of
    replay keeps the source language.
    """

    plan: Plan
    points: Mapping[str, Point]
    predicted: Mapping[str, Array]
    options: Mapping[str, Option]
    share: float
    keep: float
    kept: bool

    @property
    def taken(self) -> Option:
        """The option to take."""
        return self.plan.recommendation.option


def around(point: Point, factors: Sequence[float]) -> list[Point]:
    """The same compute at sizes of these factors, with fewer or more tokens."""
    return [replace(point, N=point.N * f, D=point.D / f) for f in factors]


def settle(recipe: Recipe, workspace: Path, vocabulary: int) -> Settled:
    """Size and base of the real run, as far as the recipe has them."""
    start, shape, params = recipe.train.base_model, recipe.model.shape, None
    if shape:
        anatomy = of_shape(SHAPES[shape], vocabulary, recipe.model.tied_embeddings)
        params = float(anatomy.parameters["total"])
    parent = find_base(start, workspace) if start else None
    if start is None or parent is None:
        return Settled(params, None)
    size = float(of_folder(model_folder(parent), vocabulary).parameters["total"])
    if (parent / "run.json").is_file():
        tokens = float(read_run(parent).tokens)
    else:
        tokens = known_bases()[start].tokens if start in known_bases() else math.nan
    return Settled(params, BaseCheckpoint(start, size, tokens))


def first_guess(recipe: Recipe, means: PilotBudget, settled: Settled) -> dict[str, Point]:
    """The real run before any run is trained: 20 tokens per parameter, 5 % replay."""
    N = settled.params or math.sqrt(means.real / (6.0 * _USUAL))
    continued = settled.base.params if settled.base else N
    return _points(recipe, means, settled, {"scratch": N, "cpt": continued}, _FIRST_REPLAY)


def advise_run(
    recipe: Recipe, means: PilotBudget, settled: Settled, beliefs: Mapping[str, PilotBelief]
) -> PilotAdvice:
    """The options for the real budget by the laws as they are known, one of them recommended."""
    assert recipe.pilot
    points = first_guess(recipe, means, settled)
    keep = KEPT if recipe.pilot.max_forgetting is None else recipe.pilot.max_forgetting
    bases = (settled.base,) if settled.base else ()
    question = Question(flops=means.real, params=settled.params, bases=bases, max_forgetting=keep)
    plan, kept = _plan(means, recipe, question, beliefs, points)
    text = means.available.get(recipe.pilot.target, math.inf)
    for _ in range(_ROUNDS):
        points = _points_of(plan, recipe, means, settled, points)
        plan, kept = _plan(means, recipe, question, beliefs, points)
    points = _points_of(plan, recipe, means, settled, points)
    if any(o.tokens_target and o.tokens_target > text for o in _options(plan).values()):
        question = replace(question, available=float(text))
        plan, kept = _plan(means, recipe, question, beliefs, points)
        points = _points_of(plan, recipe, means, settled, points)
    target = beliefs["target"]
    predicted = {name: target.predicted(points[name]) for name in ("scratch", "cpt")}
    predicted["source"] = beliefs["source"].predicted(points["source"])
    points["forgetting"] = replace(points["forgetting"], S=predicted["source"])
    predicted["forgetting"] = beliefs["forgetting"].predicted(points["forgetting"])
    share = float(np.mean(target.expected(points["cpt"]) < target.expected(points["scratch"])))
    return PilotAdvice(plan, points, predicted, _options(plan), share, keep, kept)


def _plan(
    means: PilotBudget,
    recipe: Recipe,
    question: Question,
    beliefs: Mapping[str, PilotBelief],
    points: Mapping[str, Point],
) -> tuple[Plan, bool]:
    """The options by the laws at these points, and whether the source can be kept."""
    known = (
        beliefs[block].law(points[role], around(points[role], _AROUND)) for block, role in _LAWS
    )
    laws = gather_laws(
        [Known(role, law, law.strategy) for (_, role), law in zip(_LAWS, known, strict=True)]
    )
    # the budget as the planner counts it, C = 6 N D
    scratch, cpt = (
        means.real * 6.0 * points[role].N / _per_token(recipe, means, points[role].N)
        for role in ("scratch", "cpt")
    )
    source_loss = float(np.median(beliefs["source"].expected(points["source"])))
    question = replace(question, flops=cpt, scratch_flops=scratch, source_loss=source_loss)
    try:
        return make_plan(laws, question), True
    except UserError as error:
        if error.code != "cannot_keep":
            raise
        question = replace(question, max_forgetting=None, replay=(_SOME_REPLAY,))
        return make_plan(laws, question), False


def _points_of(
    plan: Plan, recipe: Recipe, means: PilotBudget, settled: Settled, before: Mapping[str, Point]
) -> dict[str, Point]:
    options = _options(plan)
    sizes = {name: before[name].N for name in ("scratch", "cpt")}
    sizes |= {name: option.params for name, option in options.items() if option.params}
    replay = options["cpt"].way.replay if "cpt" in options else _SOME_REPLAY
    return _points(recipe, means, settled, sizes, replay)


def _options(plan: Plan) -> dict[str, Option]:
    """By strategy; continued at the share of replay that was optimized."""
    options = {o.way.strategy: o for o in plan.options if o.way.strategy == "scratch"}
    continued = [o for o in plan.options if o.way.strategy == "cpt"]
    sought = [o for o in continued if o.way.advice] or continued
    return options | ({"cpt": sought[0]} if sought else {})


def _points(
    recipe: Recipe, means: PilotBudget, settled: Settled, sizes: Mapping[str, float], replay: float
) -> dict[str, Point]:
    assert recipe.pilot
    D = {name: means.real / _per_token(recipe, means, N) for name, N in sizes.items()}
    N, per_token = sizes["cpt"], _per_token(recipe, means, sizes["cpt"])
    base = float(base_budget(recipe.pilot).tokens(round(N), per_token))
    if settled.base:  # where nobody says what it has read, as much as is usual
        base = _USUAL * N if math.isnan(settled.base.tokens) else settled.base.tokens
    return {
        "scratch": Point("scratch", sizes["scratch"], D["scratch"], means.real),
        "cpt": Point("cpt", N, (1.0 - replay) * D["cpt"], means.real, replay),
        "source": Point("source", N, base, per_token * base),
        "forgetting": Point("forgetting", N, D["cpt"], means.real, replay, 1.0),
    }


def _per_token(recipe: Recipe, means: PilotBudget, N: float) -> float:
    """FLOPs for a token, by those of the nearest shape."""
    shape, count = nearest_shape(N, means.vocabulary)
    anatomy = of_shape(shape, means.vocabulary, recipe.model.tied_embeddings)
    return float(anatomy.flops_per_token(recipe.train.context)) * N / count
