"""The runs that a pilot may choose among: what each costs, and which losses it leaves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from pydantic import TypeAdapter

from tongues.errors import UserError
from tongues.models import SHAPES, of_shape
from tongues.quantities import Budget, show_count
from tongues.recipe import Pilot, Recipe, Study
from tongues.study.grid import plan_runs
from tongues.study.pilot.prior import Point
from tongues.train import Derived, RunPlan, derive

__all__ = ["REPLAY", "Candidate", "Means", "base_budget", "candidates", "means_of"]

REPLAY = (0.0, 0.01, 0.05, 0.2, 0.5)  # shares that continued runs may have
_PER_PARAMETER = (
    0.32,
    0.5,
    0.8,
    1.25,
    2.0,
    3.2,
    5.0,
    8.0,
    12.5,
    20.0,
    32.0,
)  # tokens of a run, by its parameters
_USUAL = 20  # of a base model, where the recipe does not say
_FEWEST_STEPS = 80  # fewer are warm-up, and no law
_WINDOW, _WIDE = 4.0, 8.0  # times the real run's tokens per parameter, once settled and before
_LARGEST = 1 / 6  # of all a pilot may cost, for one run: a law takes several
_LEAST = 1 / 400  # a run that is cheaper costs more in starting than it tells
_MOST_EPOCHS = 1.0  # times the text is read: a law of unseen text is learned from unseen text
_BUDGET: TypeAdapter[Budget] = TypeAdapter(Budget)


@dataclass(frozen=True, slots=True)
class Means:
    """What a pilot may spend, and for what.

    real: FLOPs of the real run. per_parameter: between what tokens per parameter small runs lie,
    about those of the real one. budget: FLOPs of all small runs together, parents included.
    vocabulary: pieces. available: tokens to train on by language, where they are counted.
    """

    real: float
    per_parameter: tuple[float, float]
    budget: float
    vocabulary: int
    available: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run that may be trained, its FLOPs, the losses it leaves, and the base it needs."""

    plan: RunPlan
    flops: float
    points: tuple[Point, ...]
    parent: "Candidate | None" = None

    @property
    def name(self) -> str:
        """In the run store."""
        return self.plan.name


def means_of(recipe: Recipe, vocabulary: int, available: Mapping[str, int] | None = None) -> Means:
    """The real run's FLOPs, exact where its shape is settled, and what its pilot may cost."""
    pilot, budget, shape = _pilot(recipe), recipe.train.budget, recipe.model.shape
    ratio, window = float(_USUAL), _WIDE
    if shape is None and budget.unit != "FLOPs":
        raise UserError(
            f"a budget in {budget.unit} says how much a run costs only where its size is settled",
            where="train.budget",
            hint="give it in FLOPs, or settle `model.shape`",
        )
    real = float(budget.amount)
    if shape:
        anatomy = of_shape(SHAPES[shape], vocabulary, recipe.model.tied_embeddings)
        total = anatomy.parameters["total"]
        per_token = float(anatomy.flops_per_token(recipe.train.context))
        tokens = budget.tokens(total, per_token)
        real, ratio, window = per_token * tokens, tokens / total, _WINDOW
    near = ratio / window, ratio * window
    return Means(real, near, pilot.share * real, vocabulary, available or {})


def candidates(recipe: Recipe, means: Means) -> list[Candidate]:
    """Every run that fits, cheapest first: small shapes, both strategies, tokens, replay, seeds."""
    pilot, found = _pilot(recipe), {}
    shapes = pilot.shapes or [name for name in SHAPES if name != recipe.model.shape]
    for shape, seed in product(shapes, pilot.seeds):
        for candidate in _of_shape(recipe, means, shape, seed):
            found[candidate.name] = candidate
    if len({c.points[0].N for c in found.values()}) < 3:
        raise UserError(
            f"no small runs of three sizes fit: {show_count(means.budget)} FLOPs in all, each at "
            f"least {_FEWEST_STEPS} steps and at most a sixth of that, no text read twice",
            where="pilot.share",
            hint="raise the share, lower `train.batch`, or name smaller shapes by `pilot.shapes`",
        )
    return sorted(found.values(), key=lambda candidate: (candidate.flops, candidate.name))


def _of_shape(recipe: Recipe, means: Means, shape: str, seed: int) -> Iterator[Candidate]:
    """The runs of one shape and seed."""
    pilot = _pilot(recipe)
    study = Study.model_validate(
        {
            "source": pilot.source,
            "targets": [pilot.target],
            "shapes": [shape],
            "replay": list(REPLAY),
            "budgets": [f"{each:g} tokens per parameter" for each in _PER_PARAMETER],
            "source_budgets": [str(base_budget(pilot))],
            "seeds": [seed],
        }
    )
    taken = {"mixture": {}, "replay": {}, "hold": {}, "init_from": None, "run": None}
    settings = recipe.train.model_copy(update=taken | {"evaluate": [], "evaluations": 1})
    changes = {"study": study, "pilot": None, "train": settings}
    changes["model"] = recipe.model.model_copy(update={"shape": None})
    known: dict[str, Candidate] = {}
    for plan in plan_runs(recipe.model_copy(update=changes)):
        try:
            derived = derive(plan, means.vocabulary)
        except UserError:  # less than a batch
            continue
        if _fits(plan, derived, means):
            parent = known.get(plan.parent or "")
            if plan.parent and parent is None:
                continue
            candidate = Candidate(plan, derived.flops, _points(plan, derived), parent)
            known[plan.name] = candidate
            if plan.strategy != "source":
                yield candidate


def _fits(plan: RunPlan, derived: Derived, means: Means) -> bool:
    """Whether a run is long enough to tell, cheap enough, and has the text."""
    ratio, (low, high) = derived.tokens / derived.parameters["total"], means.per_parameter
    enough = derived.steps >= _FEWEST_STEPS
    like = plan.strategy == "source" or low <= ratio <= high
    affordable = _LEAST * means.budget <= derived.flops <= _LARGEST * means.budget
    text = all(
        derived.tokens * share <= _MOST_EPOCHS * means.available.get(lang, float("inf"))
        for lang, share in plan.shares.items()
    )
    return enough and like and affordable and text


def _points(plan: RunPlan, derived: Derived) -> tuple[Point, ...]:
    """The losses that a run leaves."""
    N, D, C = float(derived.parameters["total"]), float(derived.tokens), derived.flops
    if plan.strategy != "cpt":
        return (Point(plan.strategy, N, D, C),)
    learned = Point("cpt", N, (1.0 - plan.replay) * D, C, plan.replay)
    return learned, Point("forgetting", N, D, C, plan.replay)


def base_budget(pilot: Pilot) -> Budget:
    """What the small base models are trained on."""
    return pilot.source_budget or _BUDGET.validate_python(f"{_USUAL} tokens per parameter")


def _pilot(recipe: Recipe) -> Pilot:
    assert recipe.pilot
    return recipe.pilot
