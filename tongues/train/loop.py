"""The steps of a run: load, train, log, evaluate, checkpoint, and the response to a spike."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

from tongues.core.errors import Stopped, UserError
from tongues.core.files import newest_lines
from tongues.core.hardware import this_machine
from tongues.core.ranks import earlier_interrupts
from tongues.text.tokens.mixture import Phase
from tongues.train.checkpoint import Checkpoints, Position
from tongues.train.engine.processor import ceiling
from tongues.train.progress import Meter, Progress, peak_memory
from tongues.train.replay import check, check_steps, first_losses
from tongues.train.schedule import evaluation_steps, rate_at
from tongues.train.spikes import Spike, judge
from tongues.train.step import BatchLoader, Gradient, Setup, gradient, update, validate

_LOGGED = 200  # lines of metrics a run, chosen: as many points as a curve shows
_FIRST = 60.0  # seconds until the first checkpoint, and between two at least; chosen
_COST = 0.01  # of the time, at most, that checkpoints take; chosen

Say = Callable[[str], None]
Watch = Callable[[Progress], None]


def train_steps(
    setup: Setup,
    checkpoints: Checkpoints,
    position: Position | None,
    watch: Watch,
    tell: Say,
) -> Position:
    """Every step from `position` (None: the start) to the end; returns where it ended."""
    settings, steps = setup.plan.settings, setup.derived.steps
    evaluated = set(evaluation_steps(steps, settings.num_evals))
    checked = set(check_steps(steps) if settings.max_forgetting else ())
    milestones = {max(1, round(share * steps)) for share in settings.milestones}
    position, losses, on_new = _begin(setup, position)
    meter = _meter(setup, position)
    loader, spikes, saved = BatchLoader(setup, position.phases), 0, time.monotonic()
    with _signals() as came, checkpoints:
        while position.step < steps:
            often = settings.checkpoint_every or max(_FIRST, checkpoints.cost / _COST)
            due = checkpoints.ready and time.monotonic() - saved >= often
            due = due and setup.processes.first
            computed = gradient(setup, loader, position.step, (bool(came), due))
            stopping, due = computed.flags
            if spike := judge(position.recent, computed.loss, computed.norm):
                spikes += 1
                _warn(setup, spike, position.step + 1, tell)
            rate = rate_at(position.step, steps, setup.derived.learning_rate, settings)
            checkpoints.stage()  # it is written from the weights themselves
            update(setup, rate)
            step = position.step + 1
            position = _log(setup, position, computed, rate, meter.seconds)
            if step in evaluated:
                with meter.pause():
                    losses, on_new = _evaluate(setup, position)
            if step in checked:
                position = _hold(setup, position)
                loader = BatchLoader(setup, position.phases)
            progress = meter.read(
                step,
                loss=computed.loss,
                losses=losses,
                on_new=on_new,
                rate=rate,
                spikes=spikes,
                held={lang: _shares(setup, position)[lang] for lang in settings.max_forgetting},
            )
            if progress:
                if meter.keeps(progress):
                    setup.log("timing.jsonl", progress.timing())
                watch(progress)
            if step in milestones:
                checkpoints.save(position, milestone=True)
            if step < steps and (stopping or due):
                checkpoints.save(position)
                saved = time.monotonic()
            if step < steps and stopping:
                raise _stopped(setup, position)
        if setup.processes.any(bool(came)):  # in the last step
            checkpoints.save(position)
            raise _stopped(setup, position)
    return replace(position, seconds=meter.seconds)


def _begin(
    setup: Setup, position: Position | None
) -> tuple[Position, dict[str, float], dict[str, float]]:
    """Where training starts, and the newest held-out losses, of all and of new tokens."""
    if position is None:
        position = Position(step=0, seconds=0.0, loss_sum=0.0)
        losses, on_new = _evaluate(setup, position)
        return replace(position, held=first_losses(setup)), losses, on_new
    size = 1000 * len(setup.texts)  # bytes, more than the lines of an evaluation have
    last = islice(newest_lines(setup.directory / "evals.jsonl", size), len(setup.texts))
    rows = list(reversed(list(last)))
    losses = {row["lang"]: row["loss"] for row in rows}
    on_new = {row["lang"]: row["loss_new_tokens"] for row in rows if "loss_new_tokens" in row}
    return position, losses, on_new


def _meter(setup: Setup, position: Position) -> Meter:
    gpu = this_machine().gpu if setup.processor.device.type == "cuda" else None
    context = setup.plan.settings.context
    return Meter(
        position.step,
        setup.derived.steps,
        seconds=position.seconds,
        batch=setup.derived.batch,
        flops_per_token=float(setup.derived.anatomy.flops_per_token(context)),
        ceiling=setup.processes.sum([gpu.peak if gpu else ceiling(setup.processor)])[0],
        memory=lambda: peak_memory(setup.processor.device.type),
        peak_of=gpu.name if gpu else "",
    )


def _log(
    setup: Setup, position: Position, computed: Gradient, rate: float, seconds: float
) -> Position:
    """The position after a step, which is a line of `metrics.jsonl` with those since the last."""
    step, steps = position.step + 1, setup.derived.steps
    every = max(1, steps // _LOGGED)
    loss_sum = position.loss_sum + computed.loss
    if step % every == 0 or step == steps:
        averaged, loss_sum = loss_sum / ((step - 1) % every + 1), 0.0
        row = {"step": step, "tokens": step * setup.derived.batch, "loss": averaged}
        row |= {"learning_rate": rate, "norm": computed.norm}
        if computed.balance is not None:
            row["balance"] = computed.balance
        setup.log("metrics.jsonl", row)
    recent = position.recent.followed_by(computed.loss, computed.norm)
    return replace(position, step=step, seconds=seconds, loss_sum=loss_sum, recent=recent)


def _stopped(setup: Setup, position: Position) -> Stopped:
    return Stopped(f"{setup.plan.name} stopped at step {position.step} of {setup.derived.steps}")


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Hands out the list of Ctrl-C and SIGTERM that came meanwhile, instead of dying of them.

    With those that were lost while the run was begun.
    """
    came = earlier_interrupts()
    main = threading.current_thread() is threading.main_thread()  # only it can take them over
    numbers = (signal.SIGINT, signal.SIGTERM) if main else ()
    before = [(n, signal.signal(n, lambda number, _: came.append(number))) for n in numbers]
    try:
        yield came
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _warn(setup: Setup, spike: Spike, step: int, tell: Say) -> None:
    """Tell and log a spike; a UserError where the loss or gradient is no longer a number."""
    if not spike.finite:
        setup.optimizer.zero_grad(set_to_none=True)
        hint = "lower `train.learning_rate`, or set `precision: float32`"
        raise UserError(f"at step {step}, {spike}", where=setup.plan.name, hint=hint, code="spike")
    tell(f"step {step}: {spike}")
    setup.log("events.jsonl", {"step": step, "spike": str(spike)})


def _shares(setup: Setup, position: Position) -> Mapping[str, float]:
    """Share of the tokens by language from here on."""
    return position.phases[-1].shares if position.phases else setup.plan.shares


def _hold(setup: Setup, position: Position) -> Position:
    shares = _shares(setup, position)
    held, changed = check(setup, position.held, position.step, shares)
    if changed == shares:
        return replace(position, held=held)
    replayed = {lang: changed[lang] for lang in setup.plan.settings.max_forgetting}
    setup.log("events.jsonl", {"step": position.step, "replay": replayed})
    return replace(position, held=held, phases=[*position.phases, Phase(position.step, changed)])


def _evaluate(setup: Setup, position: Position) -> tuple[dict[str, float], dict[str, float]]:
    """Log the held-out losses; returns nats per token by language, of all and of new tokens."""
    context, derived = setup.plan.settings.context, setup.derived
    tokens = position.step * derived.batch
    samples, epochs = samples_and_epochs(setup, position)
    losses = validate(setup.scorer, setup.texts, setup.processes, setup.new_tokens)
    for lang, loss in losses.items():
        row = {
            "step": position.step,
            "tokens": tokens,
            "tokens_lang": samples.get(lang, 0) * context,
            "epochs_lang": epochs.get(lang, 0.0),
            "flops": float(derived.anatomy.flops_per_token(context)) * tokens,
            "lang": lang,
            "loss": loss.nats_per_token,
            "bits_per_byte": loss.bits_per_byte,
        }
        if loss.new_tokens is not None:
            row |= {"loss_new_tokens": loss.new_tokens, "loss_old_tokens": loss.old_tokens}
        setup.log("evals.jsonl", row)
    on_new = {lang: x.new_tokens for lang, x in losses.items() if x.new_tokens is not None}
    return {lang: loss.nats_per_token for lang, loss in losses.items()}, on_new


def samples_and_epochs(setup: Setup, position: Position) -> tuple[dict[str, int], dict[str, float]]:
    """Samples of each language that were trained on, and how often its text was read."""
    mixture = setup.mixture_with(position.phases)
    counts, epochs = mixture.counts(position.step), mixture.epochs(position.step)
    # Times and by the count: logs of earlier runs have this last digit.
    return counts, {lang: epochs[lang] * counts[lang] / max(counts[lang], 1) for lang in epochs}
