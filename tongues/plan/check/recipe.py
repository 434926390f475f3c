"""Look for every mistake in a recipe before work starts; the first ends it."""

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tongues.core.cores import core_count
from tongues.core.errors import UserError, nearest
from tongues.core.files import check_writable
from tongues.core.hardware import LARGER_MACHINE, Machine, this_machine, visible_gpus
from tongues.core.hub import commit_of, hub_model, is_hub_id
from tongues.core.quantities import show_bytes, show_count
from tongues.experts.plans import plan_rounds
from tongues.plan.check.checked import Checked
from tongues.plan.check.words import CHECKED
from tongues.recipe import Recipe
from tongues.text import check_tag, check_text, text_bytes
from tongues.text.tokens import load_tokenizer, vocabulary_size
from tongues.text.tokens.extend import extend_tokenizer
from tongues.text.tokens.fitting import check_spelling
from tongues.text.tokens.frame import read_frame
from tongues.text.tokens.tokenizer import find_tokenizer
from tongues.train import Derived, RunPlan, derive
from tongues.train.base import find_base, is_run_name
from tongues.train.rules import check_batch, what_would_fit
from tongues.train.study import plan_study, plan_sweep
from tongues.train.study.pilot import study_of_pilot
from tongues.train.work import Work

_CORPUS = 0.7  # bytes that a byte of text takes in the corpus, packed and with its signals
_TOKEN = 3  # bytes of text in a token, about
_PASSES = 1000  # no text is worth reading so often: surely a slip in the unit


def check_recipe(
    work: Work,
    *,
    machine: Machine | None = None,
    processes: int = 1,
    here: bool = True,
    training: bool = True,
) -> Checked:
    """Look for mistakes across the whole recipe; a UserError names the first.

    machine: what computes the runs, and must be large enough; None: this one. Its GPUs divide the
    model of a single run; each run of a study has as many to itself as it has processes.
    processes: of each run of a study, or of experts.
    here: whether the runs are computed on that machine, whose memory must then hold them.
    training: whether the runs come next, so that a base must be there; its text needs none.
    """
    recipe, workspace = work.recipe, work.workspace
    sources = check_text(recipe.text)
    sizes = text_bytes(sources)
    for lang in recipe.train.base.languages if recipe.train.base else ():
        check_tag(lang, "train.base.languages")
    runs = study_of_pilot(work, _vocabulary(recipe, workspace)) if recipe.pilot else work
    recipe = runs.recipe
    sweep = plan_sweep(recipe)
    if recipe.experts:
        rounds = plan_rounds(work, make=False)
        plans = [run for made in rounds for run in made.runs]
    else:
        plans = [*sweep, *plan_study(runs)]
    known = recipe.text.languages
    for plan in plans:
        for key in ("mixture", "replay", "eval_languages"):
            for lang in getattr(plan.settings, key):
                if lang not in known:
                    where, hint = "study" if recipe.study else f"train.{key}", nearest(lang, known)
                    raise UserError(f"language `{lang}` has no text", where=where, hint=hint)
    context, held_out = recipe.train.context, recipe.tokens.held_out
    if isinstance(held_out, int) and held_out <= context:
        what = f"{held_out} held-out tokens are too few: a context of {context} takes {context + 1}"
        hint = f"raise `tokens.held_out` to at least {context + 1} tokens, or lower `train.context`"
        raise UserError(what, where="tokens.held_out", hint=hint)
    vocabulary = _vocabulary(recipe, workspace)
    if training and not (workspace / "tokens" / recipe.name).exists():
        check_spelling(recipe, sources)
    replaced = recipe.tokens.trim or recipe.tokens.replace
    bases = {plan.name: _base(plan, plans, workspace, training=training) for plan in plans}
    named = {plan.base or "" for plan in plans if (at := bases[plan.name]) and commit_of(at)}
    hub = tuple(filter(None, (hub_model(name) for name in sorted(named) if is_hub_id(name))))
    for plan in plans:
        _check_tokenizer(plan, recipe, bases[plan.name], workspace)
    many = recipe.study or recipe.experts
    machine = machine or this_machine()
    each = replace(machine, processes=processes) if many else machine
    pairs = tuple(
        (plan, derive(plan, vocabulary, bases[plan.name], machine=each, replaced=replaced))
        for plan in plans
    )
    for plan, derived in pairs:
        _check_amounts(plan, derived, sizes)
        check_batch(derived.batch, plan.settings.context, each.processes)
    two_or_four = 2 if vocabulary <= 65_536 else 4
    disk = sum(sizes.values()) * (_CORPUS + 2 * two_or_four / _TOKEN)  # twice: aside, then in order
    workers = core_count() if machine.device == "cpu" else machine.processes
    workers = workers if machine.elsewhere else max(workers, len(visible_gpus()))
    workers = max(1, workers // each.processes)
    at_once = min((many and many.workers) or workers, len(pairs)) if many else 1
    later, first = pairs[len(sweep) :], pairs[: len(sweep)]
    room = math.inf if machine.elsewhere else _room(workspace, recipe.name)
    checked = Checked(work, later, first, at_once, round(disk), machine, each.processes, hub, room)
    if here and training:
        _check_memory(checked, each)
    check_disk(replace(checked, runs=(), sweep=()))  # what `prepare` writes
    return checked


def _vocabulary(recipe: Recipe, workspace: Path) -> int:
    """Tokens of the recipe's tokenizer; of a trimmed one those of the base until it is prepared."""
    settings = recipe.tokens
    if settings.base is None:
        return settings.vocab_size
    place, prepared = find_tokenizer(settings.base), workspace / "tokens" / recipe.name
    if settings.trim and (prepared / "tokenizer.json").is_file():
        return vocabulary_size(load_tokenizer(prepared / "tokenizer.json"))
    tokenizer = load_tokenizer(place)
    read_frame(tokenizer, place, settings.document_start)  # it must have one
    if settings.extend:
        extend_tokenizer(tokenizer, {}, [], 1)  # it must be of the kind that can be
    return vocabulary_size(tokenizer) + (settings.extend.new_tokens if settings.extend else 0)


def _base(
    plan: RunPlan, plans: Sequence[RunPlan], workspace: Path, *, training: bool
) -> Path | None:
    """What a run starts from; None where that is still to be trained and its shape is known."""
    if plan.base in {other.name for other in plans}:
        return None
    try:
        return find_base(plan.base, workspace, weights=False)
    except UserError:
        later = not training and is_run_name(plan.base, workspace)
        begun = plan.base and (workspace / "runs" / plan.base / "run.json").is_file()
        if (begun or later) and plan.shape is not None:
            return None
        raise


def _check_tokenizer(plan: RunPlan, recipe: Recipe, base: Path | None, workspace: Path) -> None:
    prepared = workspace / "tokens" / plan.tokens / "tokenizer.json"
    named = recipe.tokens.base
    changed = recipe.tokens.trim or recipe.tokens.replace
    if base is None or changed or (named is None and not prepared.is_file()):
        return
    from tongues.train.base_tokens import check_base

    check_base(plan, load_tokenizer(prepared if named is None else find_tokenizer(named)), base)


def _check_amounts(plan: RunPlan, derived: Derived, sizes: dict[str, int]) -> None:
    if plan.settings.budget.seconds is not None:
        return  # its tokens are a guess until the run measures its speed
    for lang, share in plan.shares.items():
        tokens, size = derived.tokens * share, sizes[lang]
        # A size of 0: a data set, whose size is not known, or empty files. A token is >= 1 byte.
        if size and tokens / size > _PASSES:
            amounts = f"{show_count(tokens)} tokens of `{lang}` would read its {show_bytes(size)}"
            what = f"{amounts} of text more than {_PASSES:,} times"
            hint = "give a smaller budget or more text"
            raise UserError(what, where="train.budget", hint=hint)


def _check_memory(checked: Checked, each: Machine) -> None:
    machine = checked.machine
    if checked.memory <= machine.memory:
        return
    largest, derived = max(checked.all, key=lambda run: run[1].memory)
    settings = largest.settings
    on_cpu, fits = machine.device == "cpu", what_would_fit(settings, derived, each)
    template = CHECKED["on_gpus"]
    if on_cpu:
        gpu, count = LARGER_MACHINE
        fits = CHECKED["elsewhere"].format(fits=fits, gpu=gpu, count=count)
        template = CHECKED["together_here"] if checked.at_once > 1 else CHECKED["here"]
    amounts = {"needs": show_bytes(checked.memory), "has": show_bytes(machine.memory)}
    what = template.format(machine=machine.name, at_once=checked.at_once, **amounts)
    hint = fits if derived.memory > machine.memory else "lower `study.workers`"
    raise UserError(what, where=largest.name, hint=hint)


def check_disk(checked: Checked) -> None:
    """A UserError where the disk is too small for all that is written."""
    if checked.disk > checked.room:
        check_writable(checked.work.workspace / "runs")
        what = CHECKED["disk"].format(**checked.amounts)
        raise UserError(what, where=str(checked.work.workspace), hint=CHECKED["less_disk"])


def _room(workspace: Path, name: str) -> int:
    """Bytes that are free where a workspace is, and those that a recipe has there already."""
    place = workspace.absolute()
    while not place.exists():
        place = place.parent
    volume = os.statvfs(place)
    folders = (workspace / kind / name for kind in ("corpus", "tokens", "runs"))
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return volume.f_bavail * volume.f_frsize + sum(path.stat().st_size for path in files)
