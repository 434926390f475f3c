"""A pilot: small runs of a share of a large run's compute, and the losses it will end at.

The small runs are a study of three sizes at three lengths, from scratch and continued, each base
trained as long as the longest. Sizes and lengths are about twice each other, the lengths around the
large run's tokens per parameter (benchmarks/pilot.txt).
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tongues.core.errors import UserError
from tongues.core.estimate import Estimate
from tongues.core.quantities import show_count
from tongues.laws.observed import gather_runs
from tongues.laws.targets import fit_targets
from tongues.models import SHAPES, find_shape, of_shape
from tongues.recipe import Recipe, Study
from tongues.runs.record import run_rows
from tongues.text.tokens.store import read_manifest
from tongues.train.rules import batch_by_size, nearest_shape
from tongues.train.work import Work

LENGTHS = (0.5, 1.0, 2.0)  # times the large run's tokens per parameter
STEP = 2.0  # from a size to the next one
_USUAL = 20.0  # tokens per parameter, where the size follows from the FLOPs (arXiv 2203.15556)
_STEPS = 200  # of the shortest run: fewer are warm-up, and no law
_TESTED = 15.0  # times the largest small run, to where intervals were tested: benchmarks/pilot.txt
_REACH = "{:.3g} times the compute of the largest small run"
_REACH_BEYOND = _REACH + "; intervals were tested up to {tested:g} times"
_WAYS = {"scratch": "from scratch", "cpt": "continued"}


@dataclass(frozen=True, slots=True)
class Size:
    """A shape with its exact parameters, the FLOPs for a token, and tokens to train it on."""

    shape: str
    params: int
    per_token: float
    tokens: float

    @property
    def flops(self) -> float:
        """Of a run."""
        return self.per_token * self.tokens


@dataclass(frozen=True, slots=True)
class PilotForecast:
    """The final loss of the large run on the target, nats per token, by strategy.

    beyond: its compute, in times that of the largest small run. epochs: how often it reads its
    text; the laws are of text that is read once. refused: which laws could not be fitted, and why.
    """

    large: Size
    losses: dict[str, Estimate]
    beyond: float
    epochs: float
    refused: tuple[str, ...]

    def rows(self) -> list[dict[str, str]]:
        """A row a strategy; the interval is the 95 % one of a single run."""
        large = self.large
        about = {"parameters": show_count(large.params), "tokens": show_count(large.tokens)}
        return [
            {"large run": _WAYS[strategy]}
            | about
            | {"loss": f"{of.value:.3f}", "95 %": f"{of.low:.3f} to {of.high:.3f}"}
            for strategy, of in self.losses.items()
        ]

    def remarks(self) -> list[str]:
        """How far the forecast reaches, and what is missing in it."""
        text = _REACH if self.beyond <= _TESTED else _REACH_BEYOND
        lines = [text.format(self.beyond, tested=_TESTED)]
        if self.epochs > 1:
            lines.append(f"it reads its text {self.epochs:.2g} times, the forecast is of one time")
        return [*lines, *self.refused]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        large = asdict(self.large) | {"flops": self.large.flops}
        losses = {name: of.to_json() for name, of in self.losses.items()}
        rest = {"beyond": self.beyond, "epochs": self.epochs, "refused": [*self.refused]}
        return {"large": large, "losses": losses, **rest}


def study_of_pilot(work: Work, vocabulary: int) -> Work:
    """The work of a pilot as that of its study: the largest grid within the pilot's share."""
    recipe = work.recipe
    pilot, large = recipe.pilot, _large(recipe, vocabulary)
    assert pilot
    most, ratio = pilot.share * large.flops, large.tokens / large.params
    every = sorted(
        (_size(recipe, name, vocabulary, ratio) for name in SHAPES), key=lambda size: size.params
    )
    grids = [_spread(every, last) for last in every if last.params < large.params]
    costs = [(sum(map(_cost, sizes)), sizes) for sizes in grids if len(set(sizes)) == len(sizes)]
    sizes = next((sizes for cost, sizes in reversed(costs) if cost <= most), None)
    if sizes is None:
        may = f"the small runs may take {show_count(most)} FLOPs in all"
        what = f"{may}, and the smallest take {show_count(costs[0][0])}" if costs else may
        raise UserError(what, where="pilot.share", hint="raise it, or plan a larger run")
    lengths = [f"{ratio * times:.3g} tokens per parameter" for times in LENGTHS]
    study = Study.model_validate(
        {"source": pilot.source, "targets": [pilot.target], "seeds": [recipe.train.seed]}
        | {"shapes": [size.shape for size in sizes]}
        | {"budgets": lengths, "source_budgets": lengths[-1:]}
    )
    assert study.budgets
    settings = {"budget": study.budgets[1], "batch": _batch(recipe, sizes), "micro_batch": None}
    settings |= {"num_evals": 1}  # laws are of final losses
    train = recipe.train.model_copy(update=settings)
    model = recipe.model.model_copy(update={"shape": None})
    changed = {"study": study, "pilot": None, "train": train, "model": model}
    return replace(work, recipe=recipe.model_copy(update=changed))


def forecast_large_run(work: Work) -> PilotForecast:
    """What the large run will end at, by the laws of the finished small runs."""
    recipe, workspace = work.recipe, work.workspace
    manifest = read_manifest(workspace / "tokens" / recipe.name)
    assert recipe.pilot
    large, target = _large(recipe, manifest["vocabulary_size"]), recipe.pilot.target
    runs = gather_runs(run_rows([workspace / "runs" / recipe.name]))
    own = [run for run in runs if run.target == target]
    (fitted,) = fit_targets(own)
    losses = {
        strategy: law.predict(N=float(large.params), D=large.tokens).estimates[0]
        for strategy, law in fitted.laws.items()
    }
    beyond = large.flops / max(float(run.learned.compute[-1]) for run in own)
    epochs = large.tokens / manifest["languages"][target]["train"]["tokens"]
    return PilotForecast(large, losses, beyond, epochs, fitted.refused)


def _large(recipe: Recipe, vocabulary: int) -> Size:
    """The run of the recipe itself; a budget of FLOPs alone also says its size."""
    budget, shape = recipe.train.budget, recipe.model.shape
    if shape is None and budget.unit != "FLOPs":
        what = f"a budget in {budget.unit} determines the cost of a run only with a known size"
        hint = "give it in FLOPs, or name `model.shape`"
        raise UserError(what, where="train.budget", hint=hint)
    if shape is None:
        shape = nearest_shape(math.sqrt(budget.amount / (6.0 * _USUAL)), vocabulary)[0].name
    size = _size(recipe, shape, vocabulary, _USUAL)
    return replace(size, tokens=float(budget.tokens(size.params, size.per_token)))


def _size(recipe: Recipe, shape: str, vocabulary: int, ratio: float) -> Size:
    """A shape on as many tokens per parameter."""
    found = find_shape(shape, where="model.shape")
    anatomy = of_shape(found, vocabulary, recipe.model.tied_embeddings)
    params = anatomy.parameters["total"]
    return Size(shape, params, float(anatomy.flops_per_token(recipe.train.context)), ratio * params)


def _spread(every: Sequence[Size], last: Size) -> list[Size]:
    """Three sizes up to the last one, smallest first."""
    wanted = [last.params / STEP**k for k in reversed(range(len(LENGTHS)))]
    return [min(every, key=lambda size: abs(math.log(size.params / one))) for one in wanted]


def _cost(size: Size) -> float:
    """FLOPs of all runs of a size: each length from scratch and continued, and the base."""
    return size.flops * (2.0 * sum(LENGTHS) + LENGTHS[-1])


def _batch(recipe: Recipe, sizes: Sequence[Size]) -> int | str:
    """The recipe's, or a smaller one for all runs, by which the shortest takes enough steps."""
    batch, context, first = recipe.train.batch, recipe.train.context, sizes[0]
    most = int(LENGTHS[0] * first.tokens / _STEPS / context) * context
    own = batch_by_size(first.params, context) if batch == "by size" else batch
    if not most:
        what = f"the shortest run would take fewer than {_STEPS} steps"
        raise UserError(what, where="train.context", hint="shorten it, or raise `pilot.share`")
    return batch if own <= most else most
