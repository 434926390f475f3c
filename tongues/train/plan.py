"""One run before it runs: what it trains on, and the numbers that follow from it."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from tongues.cores import core_count
from tongues.errors import UserError
from tongues.hardware import Machine, this_machine
from tongues.models import Anatomy, Shape, find_shape, of_folder, of_shape
from tongues.models.folders import read_config
from tongues.quantities import show_count
from tongues.recipe import Initialization, MixtureRule, Recipe, Train
from tongues.roles import Roles
from tongues.runs import DerivedMixture, Parameters, read_run
from tongues.tokens import open_tokens
from tongues.train.base import find_base, model_folder, roles_of
from tongues.train.defaults import complete_recipe
from tongues.train.gpu_memory import WEIGHT, moments_bytes
from tongues.train.mixture import derive_mixture, mixture_languages, text_of
from tongues.train.rules import batch_by_size, rate_at_size, run_bytes

# Settings that say how a machine goes about it, or what else is measured, not what the run is.
_MACHINES = {"run", "checkpoint_every", "milestones", "micro_batch"}
_MACHINES |= {"recompute", "shards", "offload"}
_MACHINES |= {"compile", "threads", "track"}
_ROLE_KEYS = {"base", "targets", "replay"}  # of the settings, which the roles name already
_CORE = 1e11  # operations a second of a core in bfloat16, about


def token_shares(mixture: Mapping[str, float], replay: Mapping[str, float]) -> dict[str, float]:
    """Share of all tokens by language: what is replayed, and the mixture in the rest."""
    rest = 1 - sum(replay.values())
    return {lang: rest * share for lang, share in mixture.items()} | dict(replay)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A run, wholly determined but for the tokens it reads."""

    name: str  # `<folder>/<run>` in the run store
    strategy: str  # source, scratch, cpt or expert
    roles: Roles
    base: str | None  # a run of the store, or a Hugging Face folder
    tokens: str  # name of the prepared tokens
    shape: Shape | None  # None: the base's
    tied_embeddings: bool
    new_embeddings: Initialization  # of tokens the base does not have
    settings: Train
    cluster: str | None = None  # expert: of a partition of the training text by documents
    mixture: DerivedMixture | None = None  # None: the recipe names the shares

    @property
    def shares(self) -> dict[str, float]:
        """Share of all tokens by language: what is replayed, and the mixture in the rest."""
        return token_shares(self.settings.shares, self.settings.replay)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {key: getattr(self, key) for key in self.__dataclass_fields__} | {
            "roles": self.roles.to_json(),
            "shape": self.shape.name if self.shape else None,
            "settings": self.settings.model_dump(mode="json"),
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "RunPlan":
        """The plan that `to_json` wrote."""
        shape = find_shape(plain["shape"]) if plain["shape"] else None
        settings = Train.model_validate(plain["settings"])
        roles = Roles.from_json(plain["roles"])
        return cls(**{**plain, "roles": roles, "shape": shape, "settings": settings})

    def identity(self) -> dict[str, Any]:
        """The settings that decide the bytes of the result."""
        settings = self.settings.model_dump(mode="json", exclude=_MACHINES)
        cluster = {"cluster": self.cluster} if self.cluster else {}
        return cluster | {
            "strategy": self.strategy,
            "base": self.base,
            **self.roles.to_json(),
            "shape": self.shape.name if self.shape else None,
            "tied_embeddings": self.tied_embeddings,
            "new_embeddings": self.new_embeddings if self.base else None,
            **{key: value for key, value in settings.items() if key not in _ROLE_KEYS},
        }


@dataclass(frozen=True, slots=True)
class Derived:
    """Numbers that follow from a plan and a vocabulary."""

    anatomy: Anatomy
    batch: int  # tokens
    learning_rate: float  # at its peak
    steps: int
    tokens: int
    flops: float  # exact, attention included
    memory: int  # bytes of each process at the peak
    moments: int  # bytes of a parameter's

    @property
    def parameters(self) -> Parameters:
        """Exact counts."""
        return self.anatomy.parameters

    @property
    def flops_rule(self) -> float:
        """6 x parameters x tokens."""
        return 6.0 * self.parameters["total"] * self.tokens

    @property
    def model_bytes(self) -> int:
        """Of the model on disk."""
        return 4 * self.parameters["total"]

    @property
    def trained(self) -> int:
        """Parameters that are trained, low-rank updates included."""
        trained = self.anatomy.trained
        return self.parameters["total"] if trained is None else trained

    @property
    def checkpoint_bytes(self) -> int:
        """Of each checkpoint on disk: trained weights and two moments."""
        return (WEIGHT + self.moments) * self.trained

    def as_json(self) -> dict[str, Any]:
        """The numbers by their names."""
        names = ("parameters", "batch", "learning_rate", "steps", "tokens", "flops", "flops_rule")
        names += ("trained", "memory", "model_bytes", "checkpoint_bytes")
        return {name: getattr(self, name) for name in names}


def derive(
    plan: RunPlan,
    vocabulary: int,
    base: Path | None = None,
    *,
    tokens_per_second: float | None = None,
    machine: Machine | None = None,
    replaced: bool = False,
) -> Derived:
    """Parameters, steps, tokens, operations, memory and disk of a run.

    vocabulary: tokens of its tokenizer. base: the directory of the run or Hugging Face folder
    it starts from, once that exists; with a given shape it need not.
    tokens_per_second: as measured; where the budget is a time it is guessed without.
    machine: what computes it, and so what memory it takes; None: this one. replaced: whether that
    tokenizer takes the place of the base's.
    """
    settings = plan.settings
    anatomy = _anatomy(plan, vocabulary, base, replaced=replaced)
    if settings.trains_part:
        if plan.base is None:
            what = "a run from random weights trains all of them"
            hint = "leave `trainable` out, or name a base by `train.base`"
            raise UserError(what, where="train.trainable", hint=hint)
        from tongues.train.parts import trained_anatomy

        anatomy = trained_anatomy(anatomy, settings, base, plan.shape)
    total, context = anatomy.parameters["total"], settings.context
    if anatomy.positions is not None and context > anatomy.positions:
        what = f"a context of {context} tokens is longer than the base's {anatomy.positions}"
        hint = f"lower it to `{anatomy.positions} tokens`, or take a base with a longer one"
        raise UserError(what, where="train.context", hint=hint)
    batch = settings.batch
    if batch == "by size":
        batch = batch_by_size(total, context)
    rate = settings.learning_rate
    if isinstance(rate, dict):
        rate = rate_at_size(rate, anatomy.parameters["non_embedding"])
        if not 1e-7 < rate < 1:
            what = f"the rates found lead to {rate:.2g} at this size, which is none to train with"
            hint = "find them at sizes nearer to this one, or give the rate itself"
            raise UserError(what, where="train.learning_rate", hint=hint)
    per_token = float(anatomy.flops_per_token(context))
    speed = tokens_per_second or _operations() / per_token
    budget = settings.budget.tokens(total, per_token, speed)
    steps = max(1, round(budget / batch))
    if 2 * budget < batch and settings.budget.seconds is None:
        what = f"a budget of {show_count(budget)} tokens is less than a batch of {batch:,}"
        raise UserError(what, where="train.budget", hint="raise it, or lower `train.batch`")
    flops = per_token * steps * batch
    return Derived(
        anatomy=anatomy,
        batch=batch,
        learning_rate=rate,
        steps=steps,
        tokens=steps * batch,
        flops=flops,
        moments=moments_bytes(settings),
        memory=run_bytes(
            anatomy,
            settings,
            batch,
            flops,
            machine or this_machine(),
            new_tokens=base is not None and _lacks_rows(model_folder(base), vocabulary),
        ),
    )


@cache
def _operations() -> float:
    """What this machine computes in a second, about."""
    return core_count() * _CORE


def _lacks_rows(folder: Path, vocabulary: int) -> bool:
    """Whether a base's matrices are to be enlarged."""
    return read_config(folder).get("vocab_size", vocabulary) < vocabulary


def _anatomy(plan: RunPlan, vocabulary: int, base: Path | None, *, replaced: bool) -> Anatomy:
    if base is None:
        if plan.shape is None:
            hint = f"train `{plan.base}` first, or say its shape by `model.shape`"
            raise UserError(f"`{plan.base}` is not there yet", where="train.base", hint=hint)
        return of_shape(plan.shape, vocabulary, plan.tied_embeddings)
    theirs = of_folder(model_folder(base), vocabulary, exact=replaced)
    if plan.shape:
        named = of_shape(plan.shape, theirs.vocabulary, theirs.tied_embeddings)
        if (theirs.family, theirs.parameters) != (named.family, named.parameters):
            counts = f"{theirs.parameters['total']:,} parameters, not {named.parameters['total']:,}"
            what = f"`{plan.base}` is of another shape than {named.name}: {counts}"
            raise UserError(what, where="model.shape", hint="leave it out: the base's shape counts")
        return replace(theirs, name=named.name)
    if (base / "run.json").is_file():
        return replace(theirs, name=read_run(base).shape)
    return theirs


def run_of_recipe(recipe: Recipe, workspace: Path = Path()) -> RunPlan:
    """The one run of a recipe without a study; it is named by `train.run` or the recipe.

    workspace: whose runs know what languages they were trained on, and whose tokens say how much
    text there is, for a mixture by rule.
    """
    settings = complete_recipe(recipe, workspace).recipe.train
    if recipe.model.shape is None and settings.base is None:
        raise UserError("`shape` is missing", where="model.shape", hint="such as `shape: 0.2M`")
    rule = settings.mixture if isinstance(settings.mixture, MixtureRule) else None
    if rule:
        languages = mixture_languages(recipe, settings.replay)
        equal = dict.fromkeys(languages, 1 / len(languages)) if languages else {}
        settings = settings.model_copy(update={"mixture": equal})
    if not settings.mixture:
        example = f"such as `mixture: {{{recipe.text.languages[0]}: 100%}}`, or `mixture: auto`"
        raise UserError("`mixture` is missing", where="train.mixture", hint=example)
    plan = RunPlan(
        name=settings.run or recipe.name,
        strategy="cpt" if settings.base else "scratch",
        roles=roles_of(settings, workspace),
        base=settings.base_model,
        tokens=recipe.name,
        shape=find_shape(recipe.model.shape) if recipe.model.shape else None,
        tied_embeddings=recipe.model.tied_embeddings,
        new_embeddings=recipe.model.new_embeddings,
        settings=settings,
    )
    return _with_rule(plan, rule, recipe, workspace) if rule else plan


def _with_rule(plan: RunPlan, rule: MixtureRule, recipe: Recipe, workspace: Path) -> RunPlan:
    """The plan with the shares that a rule gives for its budget."""
    settings, folder = plan.settings, workspace / "tokens" / plan.tokens
    if settings.budget.seconds is not None and rule.max_epochs != "off":
        what = "a budget in time has a number of tokens only in the run, and the limit needs it now"
        hint = "give `train.budget` in tokens, or `max_epochs: off`"
        raise UserError(what, where="train.mixture.max_epochs", hint=hint)
    prepared = (folder / "tokens.json").is_file()
    vocabulary = open_tokens(folder).vocabulary_size if prepared else recipe.tokens.vocab_size
    at = None
    with suppress(UserError):  # what is wrong with it is found where it is opened
        at = find_base(plan.base, workspace, weights=False)
    tokens = settings.budget.amount
    if settings.budget.unit in ("tokens per parameter", "FLOPs"):
        tokens = derive(plan, vocabulary, at).tokens
    tokens *= 1 - sum(settings.replay.values())
    texts = text_of(recipe, workspace)
    made = derive_mixture(rule, [*settings.shares], texts, tokens, workspace)
    mixture = {lang: one["share"] for lang, one in made["languages"].items() if one["share"]}
    settings = settings.model_copy(update={"mixture": mixture})
    return replace(plan, settings=settings, roles=roles_of(settings, workspace), mixture=made)
