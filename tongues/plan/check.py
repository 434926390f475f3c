"""Everything that can be wrong in a recipe, found before work starts, and what follows from it."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tongues.core.cores import core_count
from tongues.core.errors import Caution, UserError, nearest
from tongues.core.files import check_writable
from tongues.core.hardware import (
    LARGER_MACHINE,
    USUAL_MFU,
    Cluster,
    Machine,
    this_machine,
    visible_gpus,
)
from tongues.core.hub import HubModel, commit_of, hub_model, is_hub_id
from tongues.core.quantities import counted, show_bytes, show_count
from tongues.experts.plans import plan_rounds
from tongues.plan.budget import FEW_STEPS
from tongues.recipe import LowRank, Recipe
from tongues.runs.record import KEPT_CHECKPOINTS
from tongues.text import check_tag, check_text, text_bytes
from tongues.text.tokens.fitting import check_spelling
from tongues.train import Derived, RunPlan, derive
from tongues.train.base import find_base, is_run_name
from tongues.train.defaults import LORA_RATE
from tongues.train.rules import (
    check_batch,
    micro_batch_that_fits,
    rate_at_size,
    reads_rows,
    what_would_fit,
)
from tongues.train.schedule import scored_tokens
from tongues.train.study import plan_study, plan_sweep
from tongues.train.study.pilot import study_of_pilot
from tongues.train.work import Work

_CORPUS = 0.7  # bytes that a byte of text takes in the corpus, packed and with its signals
_TOKEN = 3  # bytes of text in a token, about
_PASSES = 1000  # no text is worth reading so often: surely a slip in the unit
_EVALUATED = 0.2  # of the tokens that a run reads, from which evaluation is told of
_HIGH = 10.0  # times the rate by size, from which a run is likely to diverge


@dataclass(frozen=True, slots=True)
class Checked:
    """A sound recipe's runs, with the numbers that follow."""

    work: Work
    runs: tuple[tuple[RunPlan, Derived], ...]
    sweep: tuple[tuple[RunPlan, Derived], ...]  # which come before, to find the rate
    at_once: int  # runs that go on at the same time
    token_bytes: int  # on disk, about
    machine: Machine
    processes: int  # of each run
    hub: tuple[HubModel, ...] = ()  # bases that are there

    @property
    def all(self) -> tuple[tuple[RunPlan, Derived], ...]:
        """Of the sweep, and of the study."""
        return (*self.sweep, *self.runs)

    @property
    def memory(self) -> int:
        """Bytes at the peak, about: the largest runs that can meet; on GPUs those of each one."""
        needs = sorted((derived.memory for _, derived in self.all), reverse=True)
        on_cpu = self.machine.device == "cpu"
        return sum(needs[: self.at_once]) * self.processes if on_cpu else sum(needs[:1])

    @property
    def disk(self) -> int:
        """Bytes on disk at most, about: tokens, models, milestones, other checkpoints.

        A run in progress has as many checkpoints as it keeps, and one being written.
        """
        kept = self.token_bytes
        passing: list[int] = []
        for plan, derived in self.all:
            kept += derived.model_bytes + len(plan.settings.milestones) * derived.checkpoint_bytes
            passing.append((KEPT_CHECKPOINTS + 1) * derived.checkpoint_bytes)
        return kept + sum(sorted(passing, reverse=True)[: self.at_once])

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What is allowed and likely to be a mistake."""
        questioned = (*self.work.cautions, *self._few_steps())
        if any(one.code == "unusual_learning_rate" for one in questioned):
            return questioned
        by_shape: dict[str, Caution] = {}
        for plan, derived in self.all:
            usual = rate_at_size(None, derived.parameters["non_embedding"])
            if isinstance(plan.settings.trainable, LowRank):
                usual *= LORA_RATE
            rate = derived.learning_rate
            if rate > _HIGH * usual:
                what = f"a learning rate of {rate:.3g} is {rate / usual:.3g} times"
                what += f" what is usual for this size, {usual:.2g}; the run is likely to diverge"
                by_shape.setdefault(derived.anatomy.name, Caution("high_rate", what))
        return (*questioned, *by_shape.values())

    def _few_steps(self) -> Iterator[Caution]:
        few = [derived for plan, derived in self.all if plan.settings.budget.seconds is None]
        for derived in sorted(few, key=lambda one: one.steps)[:1]:
            if derived.steps < FEW_STEPS:
                what = f"the budget is {counted(derived.steps, 'step')} of {derived.batch:,} tokens"
                what += f", and fewer than {FEW_STEPS} teach little; raise `train.budget`, or"
                what += " lower `train.batch` or `train.context`"
                yield Caution("few_steps", what)

    def evaluation_sentence(self) -> str:
        """Evaluation's share of the tokens that a run reads; empty where that is small."""
        recipe, shares = self.work.recipe, list[float]()
        held_out = recipe.tokens.held_out
        for plan, derived in self.all:
            languages = len(recipe.text.languages)
            scored = scored_tokens(plan.settings, held_out, languages, derived.steps)
            shares.append(scored / (scored + derived.tokens))
        if not shares or max(shares) <= _EVALUATED:
            return ""
        less = "less of it by `train.eval_tokens` and `train.num_evals`"
        return f"{max(shares):.0%} of the tokens that a run reads are held-out text; {less}"

    def rows(self) -> list[dict[str, str]]:
        """A row of text a run: name, parameters, tokens, steps, operations, memory."""
        part = any(plan.settings.trains_part for plan, _ in self.all)
        return [
            {
                "run": plan.name,
                "shape": derived.anatomy.name,
                "parameters": f"{derived.parameters['total']:,}",
                **({"trained": f"{derived.trained:,}"} if part else {}),
                "batch": f"{derived.batch:,}",
                "learning rate": f"{derived.learning_rate:.3g}",
                "tokens": show_count(derived.tokens),
                "steps": f"{derived.steps:,}",
                "FLOPs": f"{derived.flops:.3g}",
                "memory": show_bytes(derived.memory),
                **(
                    {}
                    if (hours := self.gpu_hours([derived])) is None
                    else {"GPU-hours": f"{hours:,.3g}"}
                ),
            }
            for plan, derived in self.all
        ]

    def gpu_hours(self, runs: Sequence[Derived]) -> float | None:
        """Of these on one GPU at the usual share of its peak; None on a processor."""
        gpu = self.machine.gpu
        flops = sum(derived.flops for derived in runs)
        return Cluster(gpu, 1, USUAL_MFU, gpu.price).hours(flops) if gpu else None

    def time_sentence(self) -> str:
        """The hours of GPUs of all runs, and their price; empty without GPUs or runs."""
        gpu, hours = self.machine.gpu, self.gpu_hours([derived for _, derived in self.all])
        if gpu is None or not hours:
            return ""
        price = f"${gpu.price:.2f} an hour ({gpu.priced})"
        return (
            f"{hours:,.3g} GPU-hours at {USUAL_MFU:.0%} of the peak, without evaluations; "
            f"${hours * gpu.price:,.3g} at {price}"
        )

    def memory_sentence(self) -> str:
        """How much memory it takes, and where."""
        rows = any(reads_rows(derived.anatomy, plan.settings) for plan, derived in self.all)
        filled = "; documents in rows, uncompiled: up to twice the tokens" if rows else ""
        if self.machine.device == "cpu":
            return f"{show_bytes(self.memory)}, {self.at_once} at a time{filled}"
        has = f"of {show_bytes(self.machine.memory)}"
        return f"{show_bytes(self.memory)} {has} on each GPU of {self.machine.name}{filled}"

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        runs = [
            {"run": plan.name, "shape": derived.anatomy.name, **derived.as_json()}
            | ({"mixture": plan.mixture} if plan.mixture else {})
            for plan, derived in self.all
        ]
        cautions = [{"code": one.code, "sentence": one.sentence} for one in self.cautions]
        whole = {"runs": runs, "memory": self.memory, "disk": self.disk}
        whole |= {"hub": [asdict(model) for model in self.hub]}
        if (hours := self.gpu_hours([derived for _, derived in self.all])) is not None:
            whole |= {"gpu_hours": hours}
        whole |= {"defaults": [asdict(one) for one in self.work.defaults]}
        return whole | {"machine": self.machine.name, "warnings": cautions}


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
    checked = Checked(work, later, first, at_once, round(disk), machine, each.processes, hub)
    if here:
        _check_memory(checked, each)
    if not machine.elsewhere:
        _check_disk(checked, workspace, recipe.name)
    return checked


def _vocabulary(recipe: Recipe, workspace: Path) -> int:
    """Tokens of the recipe's tokenizer; of a trimmed one those of the base until it is prepared."""
    settings = recipe.tokens
    if settings.base is None:
        return settings.vocab_size
    from tongues.text.tokens import load_tokenizer, vocabulary_size
    from tongues.text.tokens.extend import extend_tokenizer
    from tongues.text.tokens.frame import read_frame
    from tongues.text.tokens.tokenizer import find_tokenizer

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
    from tongues.text.tokens import load_tokenizer
    from tongues.text.tokens.tokenizer import find_tokenizer
    from tongues.train.start import check_base

    check_base(plan, load_tokenizer(prepared if named is None else find_tokenizer(named)), base)


def _check_amounts(plan: RunPlan, derived: Derived, sizes: dict[str, int]) -> None:
    if plan.settings.budget.seconds is not None:
        return  # its tokens are a guess until the run measures its speed
    for lang, share in plan.shares.items():
        tokens, size = derived.tokens * share, sizes[lang]
        # A size of 0: a data set, whose size is not known, or empty files. A token is >= 1 byte.
        if size and tokens / size > _PASSES:
            what = f"{show_count(tokens)} tokens of `{lang}` would read its {show_bytes(size)} of "
            what += f"text more than {_PASSES:,} times"
            hint = "give a smaller budget or more text"
            raise UserError(what, where="train.budget", hint=hint)


def _check_memory(checked: Checked, each: Machine) -> None:
    machine = checked.machine
    if checked.memory <= machine.memory:
        return
    largest, derived = max(checked.all, key=lambda run: run[1].memory)
    settings = largest.settings
    if machine.device == "cuda" and not machine.elsewhere and settings.micro_batch is None:
        sizes = derived.anatomy, settings, derived.batch, derived.flops, each
        if micro_batch_that_fits(*sizes):
            return  # training chooses the micro-batch
    needs, has = show_bytes(checked.memory), show_bytes(machine.memory)
    what = f"needs {needs} of memory on each GPU of {machine.name}, which has {has}"
    other = ""
    if machine.device == "cpu":
        together = f"{checked.at_once} at a time, the runs need" if checked.at_once > 1 else "needs"
        what = f"{together} {needs} of memory; this machine has {has}"
        gpu, count = LARGER_MACHINE
        other = "; for a run on other machines check with `--gpu`, such as "
        other += f"`--gpu {gpu} --gpus {count}`"
    hint = "lower `study.workers`"
    if derived.memory > machine.memory:
        hint = what_would_fit(settings, derived, each) + other
    raise UserError(what, where=largest.name, hint=hint)


def _check_disk(checked: Checked, workspace: Path, name: str) -> None:
    check_writable(workspace / "runs")
    place = workspace.absolute()
    while not place.exists():
        place = place.parent
    volume = os.statvfs(place)
    free = volume.f_bavail * volume.f_frsize
    folders = (workspace / kind / name for kind in ("corpus", "tokens", "runs"))
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    there = sum(path.stat().st_size for path in files)
    if checked.disk > free + there:
        what = f"needs {show_bytes(checked.disk - there)} of disk; {show_bytes(free)} are free"
        hint = "make room, set another `--workspace`, keep fewer `train.milestones`, "
        hint += "or train fewer or smaller runs"
        raise UserError(what, where=str(workspace), hint=hint)
