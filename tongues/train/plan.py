"""How a run is planned: from a recipe to a `RunPlan`, and from that to its numbers."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tongues.core.cores import core_count
from tongues.core.errors import UserError
from tongues.core.hardware import Machine, this_machine
from tongues.core.quantities import show_count
from tongues.models import Anatomy, find_shape, of_folder, of_shape
from tongues.models.folders import read_config
from tongues.recipe import MixtureRule
from tongues.runs.record import read_run
from tongues.text.tokens import open_tokens
from tongues.train.base import find_base, model_folder, roles_of
from tongues.train.gpu_memory import moments_bytes
from tongues.train.mixture import derive_mixture, mixture_languages, text_of
from tongues.train.planned import Derived, RunPlan
from tongues.train.rules import batch_by_size, micro_batch_that_fits, rate_at_size, run_bytes
from tongues.train.work import Work

_CORE = 1e11  # operations a second of a core in bfloat16, about


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
    speed = tokens_per_second or core_count() * _CORE / per_token
    budget = settings.budget.tokens(total, per_token, speed)
    steps = max(1, round(budget / batch))
    if 2 * budget < batch and settings.budget.seconds is None:
        what = f"a budget of {show_count(budget)} tokens is less than a batch of {batch:,}"
        raise UserError(what, where="train.budget", hint="raise it, or lower `train.batch`")
    flops = per_token * steps * batch
    stored = read_config(model_folder(base)).get("vocab_size") if base else None  # rows
    machine, sized = machine or this_machine(), settings
    if machine.device == "cuda" and settings.micro_batch is None:  # training chooses it there
        fits = micro_batch_that_fits(anatomy, settings, batch, flops, machine) or (None, False)
        sized = settings.model_copy(update={"micro_batch": fits[0], "recompute": fits[1]})
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
            sized,
            batch,
            flops,
            machine,
            new_tokens=stored is not None and stored < vocabulary,
        ),
    )


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


def run_of_recipe(work: Work) -> RunPlan:
    """The one run of a recipe without a study; it is named by `train.run` or the recipe.

    The workspace's runs know what languages they were trained on, and its tokens say how much
    text there is, for a mixture by rule.
    """
    recipe, workspace, settings = work.recipe, work.workspace, work.recipe.train
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
    return _with_rule(plan, rule, work) if rule else plan


def _with_rule(plan: RunPlan, rule: MixtureRule, work: Work) -> RunPlan:
    """The plan with the shares that a rule gives for its budget."""
    recipe, workspace, settings = work.recipe, work.workspace, plan.settings
    folder = workspace / "tokens" / plan.tokens
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
