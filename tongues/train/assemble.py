"""A run put together on this machine: model, optimizer and text, ready to step."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import nn

from tongues.models.embeddings import NewPieces
from tongues.randomness import derive_seed
from tongues.runs import Surgery
from tongues.tokens import Mixture, Tokens
from tongues.train.engine.fitting import fit_scorer
from tongues.train.engine.optimizer import make_optimizer
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import set_up
from tongues.train.engine.sharding import shard
from tongues.train.hold import parts_of
from tongues.train.plan import Derived, RunPlan, derive
from tongues.train.rules import compile_pays
from tongues.train.setup import Setup
from tongues.train.start import first_model, operate
from tongues.train.step import Dealer, gradient, update
from tongues.train.validation import held_out

__all__ = ["Assembled", "Task", "assemble", "make_mixture", "measure_speed"]

_TRIAL = 5.0  # seconds of stepping in which a speed is measured
_WARM = 3  # steps before

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Task:
    """A run and where it is to be computed."""

    plan: RunPlan
    tokens: Tokens
    parent: Path | None
    lacked: NewPieces | None  # pieces that the parent's tokenizer lacks
    directory: Path
    processes: Processes
    threads: int  # of each process


@dataclass(frozen=True, slots=True)
class Assembled:
    """A run ready to step, and how it came to be."""

    setup: Setup
    engine: dict[str, Any]  # how it is computed here
    surgery: Surgery | None  # where new pieces were given their embeddings just now


def make_mixture(plan: RunPlan, tokens: Tokens) -> Mixture:
    """The deal of the run's training text."""
    sources = {lang: tokens.train(lang) for lang in plan.shares}
    seed = derive_seed(plan.settings.seed, "mixture")
    return Mixture(sources, plan.shares, plan.settings.context, seed)


def assemble(
    task: Task, derived: Derived, tell: Tell, engine: dict[str, Any] | None, operated: bool
) -> Assembled:
    """Model and all, as before the first step.

    engine: how an earlier sitting computed it; precision and compilation are kept to. operated:
    whether the ways of new embeddings were compared already.
    """
    plan, tokens, settings = task.plan, task.tokens, task.plan.settings
    precision = engine["precision"] if engine else settings.precision
    processor = set_up(precision, task.threads, task.processes.local_rank)
    compiled = settings.compile == "on"
    if settings.compile == "auto":
        share = derived.flops / task.processes.count
        pays = compile_pays(share, processor.bfloat16, processor.device.type)
        compiled = engine["compiled"] if engine else pays
    model = first_model(plan, derived, tokens, task.parent, task.lacked)
    nn.Module.to(model, processor.device)
    scorer, choices = fit_scorer(
        model,
        processor,
        context=settings.context,
        apart_by=tokens.end_id if settings.documents == "apart" else None,
        recompute=settings.recompute,
        compiled=compiled,
        tell=tell,
    )
    texts = {
        lang: held_out(
            tokens.valid(lang), tokens.token_bytes, settings.context, at_most=settings.scored
        )
        for lang in settings.evaluate or tokens.languages
    }
    checked = {
        lang: parts_of(texts[lang], tokens.token_bytes, derived.tokens) for lang in settings.hold
    }
    surgery = None
    if task.lacked and not operated:
        surgery = operate(plan, tokens, scorer, texts, task.lacked, task.processes, tell)
    shard(scorer, task.processes, processor.bfloat16)
    setup = Setup(
        plan=plan,
        derived=derived,
        directory=task.directory,
        tokens=tokens,
        mixture=make_mixture(plan, tokens),
        texts=texts,
        checked=checked,
        scorer=scorer,
        optimizer=make_optimizer(scorer.model, settings, derived.rate),
        processor=processor,
        processes=task.processes,
    )
    micro_batch = setup.samples_at_a_time * settings.context
    used = asdict(choices) | {"processes": task.processes.count, "micro_batch": micro_batch}
    return Assembled(setup, used, surgery)


def measure_speed(task: Task, tell: Tell, seconds: float = _TRIAL) -> float:
    """Tokens a second of the run, by so many seconds of it that are thrown away."""
    derived = derive(task.plan, task.tokens.vocabulary_size, task.parent)
    setup = assemble(task, derived, lambda line: None, None, operated=True).setup
    dealer, step, start = Dealer(setup), 0, 0.0
    going = True
    while going:
        if step == _WARM:
            start = time.monotonic()
        late = step > _WARM and time.monotonic() - start > seconds
        going = not gradient(setup, dealer, step, (late,)).wished[0]
        update(setup, step, 0.0)
        step += 1
    taken = task.processes.sum([time.monotonic() - start])[0] / task.processes.count
    speed = (step - _WARM) * derived.batch / taken
    tell(f"{speed:,.0f} tokens/s measured, for a budget of {task.plan.settings.budget}")
    return speed
