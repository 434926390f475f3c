"""One run before it runs: what it trains on, and the numbers that follow from it."""

from dataclasses import dataclass
from typing import Any, Literal

from tongues.errors import UserError
from tongues.models import Shape, count_parameters, find_shape, flops_per_token, training_bytes
from tongues.recipe import Recipe, Train
from tongues.runs import Parameters
from tongues.train.rules import batch_by_size, rate_at_size

__all__ = ["Derived", "RunPlan", "derive", "run_of_recipe"]

# Settings that say how a machine goes about it, not what the run is.
_MACHINES = {"run", "checkpoint_every", "keep", "milestones", "micro_batch", "recompute"}
_MACHINES |= {"compile", "threads", "track"}


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A run, wholly determined but for the tokens it reads."""

    name: str  # `<folder>/<run>` in the run store
    strategy: str  # source, scratch or cpt
    target: str  # the language that is learned
    source: str | None  # cpt: the language the parent knows
    replay: float  # cpt: share of that language in the mixture
    parent: str | None  # a run of the store, or a Hugging Face folder
    tokens: str  # name of the prepared tokens
    shape: Shape
    tied_embeddings: bool
    new_embeddings: Literal["mean", "similar", "plain"]  # of pieces the parent lacks
    settings: Train

    @property
    def shares(self) -> dict[str, float]:
        """Share of all tokens by language: what is replayed, and the mixture in the rest."""
        rest = 1 - sum(self.settings.replay.values())
        mixed = {lang: rest * share for lang, share in self.settings.mixture.items()}
        return mixed | self.settings.replay

    def identity(self) -> dict[str, Any]:
        """The settings that decide the bytes of the result."""
        settings = self.settings.model_dump(mode="json", exclude=_MACHINES)
        return {
            "strategy": self.strategy,
            "target": self.target,
            "source": self.source,
            "parent": self.parent,
            "shape": self.shape.name,
            "tied_embeddings": self.tied_embeddings,
            "new_embeddings": self.new_embeddings if self.parent else None,
            **settings,
        }


@dataclass(frozen=True, slots=True)
class Derived:
    """Numbers that follow from a plan and a vocabulary."""

    parameters: Parameters
    batch: int  # tokens
    rate: float  # at its peak
    steps: int
    tokens: int
    flops: float  # exact, attention included
    flops_rule: float  # 6 x parameters x tokens
    memory: int  # bytes at the peak of a step
    model_bytes: int  # on disk
    checkpoint_bytes: int  # each, on disk


def derive(plan: RunPlan, vocabulary: int) -> Derived:
    """Parameters, steps, tokens, operations, memory and disk of a run."""
    settings = plan.settings
    parameters = count_parameters(plan.shape, vocabulary, plan.tied_embeddings)
    size = parameters["non_embedding"]
    batch = settings.batch
    if batch == "by size":
        batch = batch_by_size(size, settings.context)
    rate = settings.rate
    if isinstance(rate, dict):
        rate = rate_at_size(rate, size)
    steps = max(1, round(settings.budget.tokens(parameters["total"]) / batch))
    tokens = steps * batch
    memory = training_bytes(
        plan.shape,
        vocabulary,
        plan.tied_embeddings,
        batch,
        settings.context,
        bfloat16=settings.precision != "float32",
    )
    return Derived(
        parameters=parameters,
        batch=batch,
        rate=rate,
        steps=steps,
        tokens=tokens,
        flops=float(flops_per_token(plan.shape, vocabulary, settings.context)) * tokens,
        flops_rule=6.0 * parameters["total"] * tokens,
        memory=memory,
        model_bytes=4 * parameters["total"],
        checkpoint_bytes=12 * parameters["total"],
    )


def run_of_recipe(recipe: Recipe) -> RunPlan:
    """The one run of a recipe without a study; it is named by `train.run` or the recipe.

    Where a continued run names no `replay`, all of its mixture but the largest share counts as it.
    """
    settings = recipe.train
    if recipe.model.shape is None:
        raise UserError("`shape` is missing", where="model.shape", hint="such as `shape: 0.2M`")
    if not settings.mixture:
        example = f"such as `mixture: {{{recipe.text.languages[0]}: 100%}}`"
        raise UserError("`mixture` is missing", where="train.mixture", hint=example)
    _check_replay(settings)
    target = max(settings.mixture, key=lambda lang: settings.mixture[lang])
    continued = settings.init_from is not None
    others = {lang: share for lang, share in settings.mixture.items() if lang != target}
    replayed = (settings.replay or others) if continued else {}
    return RunPlan(
        name=settings.run or recipe.name,
        strategy="cpt" if continued else "scratch",
        target=target,
        source=next(iter(replayed), None),
        replay=round(sum(replayed.values()), 9),
        parent=settings.init_from,
        tokens=recipe.name,
        shape=find_shape(recipe.model.shape),
        tied_embeddings=recipe.model.tied_embeddings,
        new_embeddings=recipe.model.new_embeddings,
        settings=settings,
    )


def _check_replay(settings: Train) -> None:
    """Replay is text the parent knows, beside a mixture that it does not take up."""
    replayed, where = sum(settings.replay.values()), "train.replay"
    if settings.replay and settings.init_from is None:
        what = "a run from random weights has nothing to replay"
        hint = "name its parent by `train.init_from`, or put the language into `train.mixture`"
        raise UserError(what, where=where, hint=hint)
    if replayed >= 1:
        what = f"{replayed * 100:.4g}% of replay leave nothing for the mixture"
        raise UserError(what, where=where, hint="give it less")
    twice = settings.replay.keys() & settings.mixture.keys()
    if twice:
        what = f"`{min(twice)}` is in the mixture and replayed"
        raise UserError(what, where=where, hint="give it one share, in the one or the other")
