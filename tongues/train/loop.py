"""The steps of a run: load, train, log, evaluate, checkpoint, and the response to a spike."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

import torch

from tongues.errors import Stopped, UserError
from tongues.files import newest_lines
from tongues.hardware import this_machine
from tongues.ranks import earlier_interrupts
from tongues.runs import HOPELESS
from tongues.tokens.mixture import Phase
from tongues.train.checkpoint import Checkpoints, Position
from tongues.train.engine.processor import ceiling, seldom_collected
from tongues.train.progress import Meter, Progress, peak_memory
from tongues.train.record import roll_back
from tongues.train.replay import check, check_steps, first_losses
from tongues.train.schedule import embeddings_alone, evaluation_steps, rate_at
from tongues.train.spikes import Recent, Spike, judge
from tongues.train.step import BatchLoader, Setup, gradient, update, validate
from tongues.train.threads import Slowdown, choose_threads, tries_threads

__all__ = ["Watch", "checkpoint_interval", "samples_and_epochs", "train_steps"]

_LOGGED = 200  # lines of metrics a run
_ANCHORS = 20  # rollback checkpoints a run
_GOES_BACK = 10  # times at most
_FIRST = 60.0  # seconds until the first checkpoint, and between two at least
_COST = 0.01  # of the time, at most, that checkpoints take
_WORTH = 30.0  # seconds left at least when threads are chosen again

Say = Callable[[str], None]
Watch = Callable[[Progress], None]


def train_steps(
    setup: Setup,
    checkpoints: Checkpoints,
    anchors: Checkpoints,
    position: Position | None,
    watch: Watch,
    tell: Say,
) -> Position:
    """Every step from `position` (None: the start) to the end; returns where it ended.

    anchors: rollback checkpoints, for a spike, if the recipe says so.
    """
    settings, steps = setup.plan.settings, setup.derived.steps
    evaluated = set(evaluation_steps(steps, settings.num_evals))
    checked = set(check_steps(steps) if settings.max_forgetting else ())
    milestones = {max(1, round(share * steps)) for share in settings.milestones}
    anchor_every = max(1, steps // _ANCHORS) if settings.on_spike == "rollback" else 0
    log_every = max(1, steps // _LOGGED)
    if position is None:
        position = Position(step=0, seconds=0.0, loss_sum=0.0)
        losses, on_new = _evaluate(setup, position)
        position = replace(position, held=first_losses(setup))
    else:
        size = 1000 * len(setup.texts)  # bytes, more than the lines of an evaluation have
        last = islice(newest_lines(setup.directory / "evals.jsonl", size), len(setup.texts))
        rows = list(reversed(list(last)))
        losses = {row["lang"]: row["loss"] for row in rows}
        on_new = {row["lang"]: row["loss_new_tokens"] for row in rows if "loss_new_tokens" in row}
        if position.threads:
            torch.set_num_threads(min(position.threads, setup.processor.threads))
    gpu = this_machine().gpu if setup.processor.device.type == "cuda" else None
    meter = Meter(
        position.step,
        steps,
        seconds=position.seconds,
        batch=setup.derived.batch,
        flops_per_token=float(setup.derived.anatomy.flops_per_token(settings.context)),
        ceiling=setup.processes.sum([gpu.peak if gpu else ceiling(setup.processor)])[0],
        memory=lambda: peak_memory(setup.processor.device.type),
        peak_of=gpu.name if gpu else "",
    )
    loader, spikes, saved = BatchLoader(setup, position.phases), 0, time.monotonic()
    slowdown, slow = Slowdown(), False
    device = setup.processor.device
    with _signals() as came, checkpoints, anchors, seldom_collected(device) as collect:
        if anchor_every and position.step % anchor_every == 0:
            anchors.save(position)
        while position.step < steps:
            often = settings.checkpoint_every or checkpoint_interval(checkpoints)
            due = checkpoints.ready and time.monotonic() - saved >= often
            due = due and setup.processes.first
            stop = bool(came) or (setup.directory / HOPELESS).exists()
            computed = gradient(setup, loader, position.batch, (stop, due, slow))
            stopping, due, slow = computed.flags
            if spike := judge(position.recent, computed.loss, computed.norm):
                spikes += 1
                if _rolls_back(setup, spike, position, tell):
                    position = _roll_back(setup, checkpoints, anchors, position, tell)
                    loader = BatchLoader(setup, position.phases)
                    meter.restart(position.step)
                    continue
            rate = rate_at(position.step, steps, setup.derived.learning_rate, settings)
            for places in (checkpoints, anchors):
                places.stage()  # they are written from the weights themselves
            update(setup, position.step, rate)
            step = position.step + 1
            collect(step)
            # Steps before other weights begin to learn say nothing of those after.
            recent = position.recent.followed_by(computed.loss, computed.norm)
            if embeddings_alone(step - 1, steps, settings) != embeddings_alone(
                step, steps, settings
            ):
                recent = Recent()
            position = replace(
                position,
                step=step,
                seconds=meter.seconds,
                loss_sum=position.loss_sum + computed.loss,
                recent=recent,
            )
            if step % log_every == 0 or step == steps:
                averaged = position.loss_sum / ((step - 1) % log_every + 1)
                row = {"step": step, "tokens": step * setup.derived.batch, "loss": averaged}
                row |= {"learning_rate": rate, "norm": computed.norm}
                if computed.balance is not None:
                    row["balance"] = computed.balance
                setup.log("metrics.jsonl", row)
                position = replace(position, loss_sum=0.0)
            if step in evaluated:
                with meter.pause():
                    losses, on_new = _evaluate(setup, position)
            if step in checked:
                position = _hold(setup, position)
                loader = BatchLoader(setup, position.phases)
            if slow:
                position = _choose_threads_again(setup, position, tell)
                slowdown, slow = Slowdown(), False
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
                first, tried = setup.processes.first, tries_threads(setup)
                slow = slowdown.add(progress.tokens_per_second) and first and tried
                slow = slow and progress.seconds_left > _WORTH
            save = step < steps and (stopping or due)
            if anchor_every and step % anchor_every == 0 and step < steps:
                checkpoints.wait()  # one at a time
                anchors.save(position)
            if step in milestones or save:
                anchors.wait()  # no checkpoint may be there before the anchors that led to it
            if step in milestones:
                checkpoints.save(position, milestone=True)
            if save:
                checkpoints.save(position)
                saved = time.monotonic()
            if save and stopping:
                raise Stopped(f"{setup.plan.name} stopped at step {step} of {steps}")
        if setup.processes.any(bool(came)):  # in the last step
            checkpoints.save(position)
            raise Stopped(f"{setup.plan.name} stopped at step {position.step} of {steps}")
    return replace(position, seconds=meter.seconds)


def checkpoint_interval(checkpoints: Checkpoints) -> float:
    """Seconds between two checkpoints, so that they cost at most 1 % of the time."""
    return max(_FIRST, checkpoints.cost / _COST)


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


def _rolls_back(setup: Setup, spike: Spike, position: Position, tell: Say) -> bool:
    settings, step = setup.plan.settings, position.step + 1
    back = settings.on_spike == "rollback" and position.went_back < _GOES_BACK
    if not back and (settings.on_spike != "warn" or not spike.finite):
        setup.optimizer.zero_grad(set_to_none=True)
        others = ", or `on_spike: rollback`" if settings.on_spike != "rollback" else ""
        hint = f"lower `train.learning_rate`, set `precision: float32`{others}"
        raise UserError(f"at step {step}, {spike}", where=setup.plan.name, hint=hint, code="spike")
    tell(f"step {step}: {spike}")
    if not back:
        setup.log("events.jsonl", {"step": step, "spike": str(spike)})
    return back


def _roll_back(
    setup: Setup, checkpoints: Checkpoints, anchors: Checkpoints, position: Position, tell: Say
) -> Position:
    """To the last anchor but one, whose state is surely sound; the batches since are left out."""
    setup.optimizer.zero_grad(set_to_none=True)
    anchor, damaged = anchors.load(but_newest=True)
    for place in damaged:
        tell(f"{place} is damaged and passed over")
    if anchor is None:
        what, hint = "there is no complete rollback checkpoint", "train it again with --overwrite"
        raise UserError(what, where=setup.plan.name, hint=hint)
    for places in (checkpoints, anchors):
        places.cut(anchor.step)
    left_out = [anchor.batch, position.batch + 1]
    phases = position.phases  # of the batches left out
    if len(phases) > len(anchor.phases):
        phases = [*phases, Phase(left_out[1], _shares(setup, anchor))]
    if setup.processes.first:
        roll_back(setup.directory, anchor.step)
    tell(f"back to step {anchor.step}; {left_out[1] - left_out[0]} batches are left out")
    setup.log("events.jsonl", {"step": anchor.step + 1, "left_out": left_out})
    skipped = [*anchor.skipped, left_out]
    return replace(
        anchor,
        skipped=skipped,
        phases=phases,
        went_back=position.went_back + 1,
        threads=position.threads,
    )


def _choose_threads_again(setup: Setup, position: Position, tell: Say) -> Position:
    before, threads = torch.get_num_threads(), choose_threads(setup)
    if threads == before:
        return position
    tell(
        f"step {position.step}: half as fast as before; threads were {before} and are {threads} "
        "now: from here on the run is the same within rounding, not to the last digit"
    )
    setup.log("events.jsonl", {"step": position.step, "threads": threads})
    return replace(position, threads=threads)


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
    return replace(position, held=held, phases=[*position.phases, Phase(position.batch, changed)])


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
    trained = drawn = mixture.counts(position.batch)
    for first, end in position.skipped:
        before, after = mixture.counts(first), mixture.counts(end)
        trained = {lang: count - after[lang] + before[lang] for lang, count in trained.items()}
    epochs = mixture.epochs(position.batch)
    return trained, {lang: epochs[lang] * trained[lang] / max(drawn[lang], 1) for lang in epochs}
