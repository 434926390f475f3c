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
from tongues.study.pilot.blocks import Point
from tongues.train import Derived, RunPlan, derive
from tongues.train.rules import batch_by_size

__all__ = ["REPLAY", "Candidate", "PilotBudget", "base_budget", "candidates", "means_of"]

REPLAY = (0.0, 0.01, 0.05, 0.2, 0.5)  # shares that continued runs may have
_TIMES = tuple(10 ** (k / 5) for k in range(-4, 5))  # the real run's tokens per parameter
_USUAL = 20  # of a base model, where the recipe does not say
_STEPS = 500  # at least, of a small run with the real one's tokens per parameter
_FEWEST_STEPS = 200  # fewer are warm-up, and no law
_WINDOW, _WIDE = 4.0, 8.0  # times the real run's tokens per parameter, once settled and before
_LARGEST = 1 / 6  # of all a pilot may cost, for one run: a law takes several
_LEAST = 1 / 400  # a cheaper run costs more to start than it is worth
_MOST_EPOCHS = 1.0  # times the text is read: a law of unseen text is learned from unseen text
# Set by the pilot itself, for its runs.
_SET = ("mixture", "replay", "max_forgetting", "run", "eval_languages")
_BUDGET: TypeAdapter[Budget] = TypeAdapter(Budget)


@dataclass(frozen=True, slots=True)
class PilotBudget:
    """What a pilot may spend, and for what.

    real: FLOPs of the real run. per_parameter: its tokens per parameter, or usual ones. window:
    factor by which small runs may have more or fewer. budget: FLOPs of all small runs with their
    bases. steps: of a small run with the real one's tokens per parameter. available: training
    tokens by language and bytes_per_token of these, where they are counted.
    """

    real: float
    per_parameter: float
    window: float
    budget: float
    steps: float
    vocabulary: int
    available: Mapping[str, float]
    bytes_per_token: Mapping[str, float]


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


def means_of(
    recipe: Recipe,
    vocabulary: int,
    available: Mapping[str, float] | None = None,
    bytes_per_token: Mapping[str, float] | None = None,
) -> PilotBudget:
    """The real run's FLOPs, exact where its shape is given, and the budget of its pilot."""
    pilot, budget, shape = _pilot(recipe), recipe.train.budget, recipe.model.shape
    taken = [key for key in _SET if getattr(recipe.train, key)]
    if taken:
        raise UserError(
            f"a pilot sets {', '.join(_SET)} of its runs and of the real one itself",
            where=f"train.{taken[0]}",
            hint="take it out; a pilot has `source`, `target` and `max_forgetting` of its own",
        )
    if shape is None and budget.unit != "FLOPs":
        raise UserError(
            f"a budget in {budget.unit} determines the cost of a run only with a known size",
            where="train.budget",
            hint="give it in FLOPs, or name `model.shape`",
        )
    real, ratio, window, steps = float(budget.amount), float(_USUAL), _WIDE, float(_STEPS)
    if shape:
        total, per_token = _size(recipe, shape, vocabulary)
        tokens = budget.tokens(total, per_token)
        real, ratio, window = per_token * tokens, tokens / total, _WINDOW
        steps = max(steps, tokens / _batch_of(recipe, total))
    return PilotBudget(
        real,
        ratio,
        window,
        pilot.share * real,
        steps,
        vocabulary,
        available or {},
        bytes_per_token or {},
    )


def candidates(recipe: Recipe, means: PilotBudget) -> list[Candidate]:
    """Every run that fits, cheapest first: small shapes, both strategies, tokens, replay, seeds."""
    pilot, fitting = _pilot(recipe), dict[str, Candidate]()
    shapes = pilot.shapes or [name for name in SHAPES if name != recipe.model.shape]
    for shape, seed in product(shapes, pilot.seeds):
        fitting |= {
            candidate.name: candidate for candidate in _of_shape(recipe, means, shape, seed)
        }
    if len({c.points[0].N for c in fitting.values()}) < 3:
        raise UserError(
            f"no small runs of three sizes fit: {show_count(means.budget)} FLOPs in all, each at "
            f"least {_FEWEST_STEPS} steps and at most a sixth of that, no text read twice",
            where="pilot.share",
            hint="raise the share, or name smaller shapes by `pilot.shapes`",
        )
    return sorted(fitting.values(), key=lambda candidate: (candidate.flops, candidate.name))


def _of_shape(recipe: Recipe, means: PilotBudget, shape: str, seed: int) -> Iterator[Candidate]:
    pilot, ratio = _pilot(recipe), means.per_parameter
    study = Study.model_validate(
        {
            "source": pilot.source,
            "targets": [pilot.target],
            "shapes": [shape],
            "replay": list(REPLAY),
            "budgets": [f"{ratio * times:.3g} tokens per parameter" for times in _TIMES],
            "source_budgets": [str(base_budget(pilot))],
            "seeds": [seed],
        }
    )
    settings = {
        "mixture": {},
        "replay": {},
        "max_forgetting": {},
        "base": None,
        "targets": [],
        "run": None,
    }
    settings |= {"eval_languages": [], "num_evals": 1, "batch": _batch(recipe, means, shape)}
    settings["micro_batch"] = None  # meant for the real run's memory
    train = recipe.train.model_copy(update=settings)
    model = recipe.model.model_copy(update={"shape": None})
    changes = {"study": study, "pilot": None, "train": train, "model": model}
    known: dict[str, Candidate] = {}
    for plan in plan_runs(recipe.model_copy(update=changes)):
        try:
            derived = derive(plan, means.vocabulary)
        except UserError:  # less than a batch
            continue
        parent = known.get(plan.base or "")
        if _fits(plan, derived, means) and (parent or not plan.base):
            N, D, C = float(derived.parameters["total"]), float(derived.tokens), derived.flops
            points = (Point(plan.strategy, N, D, C),)
            if plan.strategy == "cpt":
                r = plan.roles.replay_share
                points = Point("cpt", N, (1.0 - r) * D, C, r), Point("forgetting", N, D, C, r)
            known[plan.name] = Candidate(plan, C, points, parent)
            if plan.strategy != "source":
                yield known[plan.name]


def _size(recipe: Recipe, shape: str, vocabulary: int) -> tuple[int, float]:
    """Parameters, and FLOPs for a token."""
    found = find_shape(shape, where="pilot.shapes")
    anatomy = of_shape(found, vocabulary, recipe.model.tied_embeddings)
    return anatomy.parameters["total"], float(anatomy.flops_per_token(recipe.train.context))


def _batch(recipe: Recipe, means: PilotBudget, shape: str) -> int:
    """Tokens of a small run's batch: the recipe's, or fewer, for enough steps.

    Losses of small models depend on steps as much as on tokens. A batch in proportion to the
    parameters gives equal steps at equal tokens per parameter; bases have steps enough too.
    """
    total, per_token = _size(recipe, shape, means.vocabulary)
    base, context = base_budget(_pilot(recipe)).tokens(total, per_token), recipe.train.context
    enough = min(total * means.per_parameter / means.steps, base / _FEWEST_STEPS)
    return min(_batch_of(recipe, total), max(1, int(enough / context)) * context)


def _batch_of(recipe: Recipe, total: int) -> int:
    batch = recipe.train.batch
    return batch_by_size(total, recipe.train.context) if batch == "by size" else batch


def _fits(plan: RunPlan, derived: Derived, means: PilotBudget) -> bool:
    """Whether a run has enough steps and text, and is neither too cheap nor too expensive."""
    ratio = derived.tokens / derived.parameters["total"] / means.per_parameter
    return (
        derived.steps >= _FEWEST_STEPS
        and (plan.strategy == "source" or 1 / means.window <= ratio <= means.window)
        and _LEAST * means.budget <= derived.flops <= _LARGEST * means.budget
        and all(
            derived.tokens * share <= _MOST_EPOCHS * means.available.get(lang, float("inf"))
            for lang, share in plan.shares.items()
        )
    )


def base_budget(pilot: Pilot) -> Budget:
    """What the small base models are trained on."""
    return pilot.source_budget or _BUDGET.validate_python(f"{_USUAL} tokens per parameter")


def _pilot(recipe: Recipe) -> Pilot:
    assert recipe.pilot
    return recipe.pilot
