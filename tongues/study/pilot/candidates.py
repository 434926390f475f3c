"""The runs that a pilot may choose among: what each costs, and which losses it leaves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from pydantic import TypeAdapter

from tongues.errors import UserError
from tongues.models import SHAPES, find_shape, of_shape
from tongues.quantities import Budget, show_count
from tongues.recipe import Pilot, Recipe, Study
from tongues.study.grid import plan_runs
from tongues.study.pilot.prior import Point
from tongues.train import Derived, RunPlan, derive
from tongues.train.rules import batch_by_size

__all__ = ["REPLAY", "Candidate", "Means", "base_budget", "candidates", "means_of"]

REPLAY = (0.0, 0.01, 0.05, 0.2, 0.5)  # shares that continued runs may have
_TIMES = tuple(10 ** (k / 5) for k in range(-4, 5))  # the real run's tokens per parameter
_USUAL = 20  # of a base model, where the recipe does not say
_STEPS = 500  # at least, of a small run with the real one's tokens per parameter
_FEWEST_STEPS = 200  # fewer are warm-up, and no law
_WINDOW, _WIDE = 4.0, 8.0  # times the real run's tokens per parameter, once settled and before
_LARGEST = 1 / 6  # of all a pilot may cost, for one run: a law takes several
_LEAST = 1 / 400  # a run that is cheaper costs more in starting than it tells
_MOST_EPOCHS = 1.0  # times the text is read: a law of unseen text is learned from unseen text
_SET = ("mixture", "replay", "hold", "run", "evaluate")  # of its runs, by the pilot itself
_BUDGET: TypeAdapter[Budget] = TypeAdapter(Budget)


@dataclass(frozen=True, slots=True)
class Means:
    """What a pilot may spend, and for what.

    real: FLOPs of the real run. per_parameter: its tokens per parameter, or usual ones. window: how
    many times more or fewer small runs may have. budget: FLOPs of all small runs together, parents
    included. steps: of a small run with the real one's tokens per parameter, as many as that has
    itself or more. vocabulary: pieces. available: tokens to train on by language, where they are
    counted.
    """

    real: float
    per_parameter: float
    window: float
    budget: float
    steps: float
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
    said = [key for key in _SET if getattr(recipe.train, key)]
    if said:
        raise UserError(
            f"a pilot sets {', '.join(_SET)} of its runs and of the real one itself",
            where=f"train.{said[0]}",
            hint="take it out; `pilot.source`, `pilot.target` and `pilot.keep` say what is wanted",
        )
    ratio, window, steps = float(_USUAL), _WIDE, float(_STEPS)
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
        steps = max(steps, tokens / _batch_of(recipe, total))
    return Means(real, ratio, window, pilot.share * real, steps, vocabulary, available or {})


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
            hint="raise the share, or name smaller shapes by `pilot.shapes`",
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
            "budgets": [
                f"{means.per_parameter * each:.3g} tokens per parameter" for each in _TIMES
            ],
            "source_budgets": [str(base_budget(pilot))],
            "seeds": [seed],
        }
    )
    taken = {"mixture": {}, "replay": {}, "hold": {}, "base": None, "targets": [], "run": None}
    taken |= {"evaluate": [], "evaluations": 1, "batch": _batch(recipe, means, shape)}
    taken["micro_batch"] = None  # meant for the real run's memory
    settings = recipe.train.model_copy(update=taken)
    changes = {"study": study, "pilot": None, "train": settings}
    changes["model"] = recipe.model.model_copy(update={"shape": None})
    known: dict[str, Candidate] = {}
    for plan in plan_runs(recipe.model_copy(update=changes)):
        try:
            derived = derive(plan, means.vocabulary)
        except UserError:  # less than a batch
            continue
        if _fits(plan, derived, means):
            parent = known.get(plan.base or "")
            if plan.base and parent is None:
                continue
            candidate = Candidate(plan, derived.flops, _points(plan, derived), parent)
            known[plan.name] = candidate
            if plan.strategy != "source":
                yield candidate


def _batch(recipe: Recipe, means: Means, shape: str) -> int:
    """Tokens of a small run's batch: the recipe's, or as many fewer as leave it its steps.

    Losses of small models depend on steps as much as on tokens. A batch in proportion to the
    parameters gives equal steps at equal tokens per parameter; bases have steps enough too.
    """
    small, context = find_shape(shape, where="pilot.shapes"), recipe.train.context
    anatomy = of_shape(small, means.vocabulary, recipe.model.tied_embeddings)
    total = anatomy.parameters["total"]
    base = base_budget(_pilot(recipe)).tokens(total, float(anatomy.flops_per_token(context)))
    enough = min(total * means.per_parameter / means.steps, base / _FEWEST_STEPS)
    return min(_batch_of(recipe, total), max(1, int(enough / context)) * context)


def _batch_of(recipe: Recipe, total: int) -> int:
    """Tokens of a batch as the recipe has it for so many parameters."""
    batch = recipe.train.batch
    return batch_by_size(total, recipe.train.context) if batch == "by size" else batch


def _fits(plan: RunPlan, derived: Derived, means: Means) -> bool:
    """Whether a run is long enough to tell, cheap enough, and has the text."""
    ratio = derived.tokens / derived.parameters["total"] / means.per_parameter
    enough = derived.steps >= _FEWEST_STEPS
    like = plan.strategy == "source" or 1 / means.window <= ratio <= means.window
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
    learned = Point("cpt", N, (1.0 - plan.roles.replay_share) * D, C, plan.roles.replay_share)
    return learned, Point("forgetting", N, D, C, plan.roles.replay_share)


def base_budget(pilot: Pilot) -> Budget:
    """What the small base models are trained on."""
    return pilot.source_budget or _BUDGET.validate_python(f"{_USUAL} tokens per parameter")


def _pilot(recipe: Recipe) -> Pilot:
    assert recipe.pilot
    return recipe.pilot
