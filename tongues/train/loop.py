"""The steps of a run: deal, train, log, evaluate, checkpoint, and what a spike calls for."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from tongues.errors import Stopped, UserError
from tongues.files import newest_lines
from tongues.tokens.mixture import Stage
from tongues.train.checkpoint import Checkpoints, Position
from tongues.train.engine.processor import ceiling
from tongues.train.hold import check, check_steps, first_losses
from tongues.train.progress import Meter, Progress, peak_memory
from tongues.train.record import roll_back
from tongues.train.schedule import embeddings_alone, evaluation_steps, rate_at
from tongues.train.signals import StopSignal
from tongues.train.spikes import Recent, Spike, judge
from tongues.train.step import Dealer, Gradient, Setup, forget, gradient, update
from tongues.train.validation import validate

__all__ = ["Watch", "dealt", "train_steps"]

_LOGGED = 200  # lines of metrics a run
_ANCHORS = 20  # places a run can go back to after a spike
_GOES_BACK = 10  # times at most

Tell = Callable[[str], None]
Watch = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class _Places:
    """Steps after which something is done, besides the step."""

    evaluated: frozenset[int]
    checked: frozenset[int]  # of what is held
    milestones: frozenset[int]
    anchor_every: int  # 0: none
    log_every: int


def train_steps(
    setup: Setup,
    checkpoints: Checkpoints,
    anchors: Checkpoints,
    position: Position | None,
    watch: Watch,
    tell: Tell,
) -> Position:
    """Every step from `position` (None: the start) to the end; returns where it ended.

    anchors: what the run goes back to after a spike, if its recipe says so.
    """
    settings, steps = setup.plan.settings, setup.derived.steps
    places = _places(setup)
    if position is None:
        position = Position(step=0, seconds=0.0, loss_sum=0.0)
        losses = _evaluate(setup, position)
        position = replace(position, held=first_losses(setup))
    else:
        losses = _last_losses(setup)
    meter = Meter(
        position.step,
        steps,
        seconds=position.seconds,
        batch=setup.derived.batch,
        flops_per_token=float(setup.derived.anatomy.flops_per_token(settings.context)),
        ceiling=setup.processes.sum([ceiling(setup.processor)])[0],
        memory=lambda: peak_memory(setup.processor.device.type),
    )
    dealer, spikes, saved = Dealer(setup, position.stages), 0, time.monotonic()
    with StopSignal() as stop, checkpoints, anchors:
        if places.anchor_every and position.step % places.anchor_every == 0:
            anchors.save(position)
        while position.step < steps:
            due = setup.processes.first and time.monotonic() - saved >= settings.checkpoint_every
            found = gradient(setup, dealer, position.batch, (stop.asked, due))
            stopping, due = found.wished
            if spike := judge(position.recent, found.loss, found.norm):
                spikes += 1
                if _bear(setup, spike, position, tell) == "back":
                    position = _go_back(setup, checkpoints, anchors, position, tell)
                    dealer = Dealer(setup, position.stages)
                    meter.go_back(position.step)
                    continue
            rate = rate_at(position.step, steps, setup.derived.rate, settings)
            update(setup, position.step, rate)
            step = position.step + 1
            position = replace(
                position,
                step=step,
                seconds=meter.seconds,
                loss_sum=position.loss_sum + found.loss,
                recent=_remembered(setup, position, found),
            )
            if step % places.log_every == 0 or step == steps:
                averaged = position.loss_sum / ((step - 1) % places.log_every + 1)
                row = {"step": step, "tokens": step * setup.derived.batch, "loss": averaged}
                setup.log("metrics.jsonl", row | {"rate": rate, "norm": found.norm})
                position = replace(position, loss_sum=0.0)
            if step in places.evaluated:
                losses = _evaluate(setup, position)
            if step in places.checked:
                position = _hold(setup, position)
                dealer = Dealer(setup, position.stages)
            progress = meter.read(
                step,
                loss=found.loss,
                losses=losses,
                rate=rate,
                spikes=spikes,
                held={lang: _shares(setup, position)[lang] for lang in settings.hold},
            )
            if progress:
                if meter.keeps(progress):
                    setup.log("timing.jsonl", progress.timing())
                watch(progress)
            if places.anchor_every and step % places.anchor_every == 0 and step < steps:
                anchors.save(position)
            if step in places.milestones or (step < steps and (stopping or due)):
                anchors.wait()  # no checkpoint may lie there before the anchors that led to it
            if step in places.milestones:
                checkpoints.save(position, milestone=True)
            if step < steps and (stopping or due):
                checkpoints.save(position)
                saved = time.monotonic()
                if stopping:
                    raise Stopped(f"{setup.plan.name} stopped at step {step} of {steps}")
    return replace(position, seconds=meter.seconds)


def _places(setup: Setup) -> _Places:
    settings, steps = setup.plan.settings, setup.derived.steps
    back = settings.on_spike == "back"
    return _Places(
        evaluated=frozenset(evaluation_steps(steps, settings.evaluations)),
        checked=frozenset(check_steps(steps) if settings.hold else ()),
        milestones=frozenset(max(1, round(share * steps)) for share in settings.milestones),
        anchor_every=max(1, steps // _ANCHORS) if back else 0,
        log_every=max(1, steps // _LOGGED),
    )


def _remembered(setup: Setup, position: Position, found: Gradient) -> Recent:
    """The steps to judge the next by: none from before other weights begin to learn."""
    steps, settings = setup.derived.steps, setup.plan.settings
    here, then = (embeddings_alone(position.step + i, steps, settings) for i in range(2))
    return position.recent.followed_by(found.loss, found.norm) if here == then else Recent()


def _bear(setup: Setup, spike: Spike, position: Position, tell: Tell) -> str:
    """Tell a spike; stop for it, go back, or bear it, as the recipe says."""
    settings, step = setup.plan.settings, position.step + 1
    back = settings.on_spike == "back" and position.went_back < _GOES_BACK
    if not back and (settings.on_spike != "tell" or not spike.finite):
        forget(setup)
        others = ", or `on_spike: back`" if settings.on_spike != "back" else ""
        raise UserError(
            f"at step {step}, {spike}",
            where=setup.plan.name,
            hint=f"lower `train.rate`, set `precision: float32`{others}",
            code="spike",
        )
    tell(f"step {step}: {spike}")
    if not back:
        setup.log("events.jsonl", {"step": step, "spike": str(spike)})
    return "back" if back else "bear"


def _go_back(
    setup: Setup, checkpoints: Checkpoints, anchors: Checkpoints, position: Position, tell: Tell
) -> Position:
    """To the last anchor but one, whose state is surely sound; the batches since are left out."""
    forget(setup)
    anchor, damaged = anchors.load(but_newest=True)
    for place in damaged:
        tell(f"{place} is damaged and passed over")
    if anchor is None:
        what, hint = "there is no whole anchor to go back to", "start it anew with --rebuild"
        raise UserError(what, where=setup.plan.name, hint=hint)
    for places in (checkpoints, anchors):
        places.cut(anchor.step)
    left_out = [anchor.batch, position.batch + 1]
    stages = position.stages  # by which the batches left out were dealt
    if len(stages) > len(anchor.stages):
        stages = [*stages, Stage(left_out[1], _shares(setup, anchor))]
    if setup.processes.first:
        roll_back(setup.directory, anchor.step)
    tell(f"back to step {anchor.step}; {left_out[1] - left_out[0]} batches are left out")
    setup.log("events.jsonl", {"step": anchor.step + 1, "left_out": left_out})
    skipped = [*anchor.skipped, left_out]
    return replace(anchor, skipped=skipped, stages=stages, went_back=position.went_back + 1)


def _shares(setup: Setup, position: Position) -> Mapping[str, float]:
    """Share of the tokens by language from here on."""
    return position.stages[-1].shares if position.stages else setup.plan.shares


def _hold(setup: Setup, position: Position) -> Position:
    """Look at the languages that are held, and change what is replayed of them from here on."""
    shares = _shares(setup, position)
    held, changed = check(setup, position.held, position.step, shares)
    if changed == shares:
        return replace(position, held=held)
    replayed = {lang: changed[lang] for lang in setup.plan.settings.hold}
    setup.log("events.jsonl", {"step": position.step, "replay": replayed})
    return replace(position, held=held, stages=[*position.stages, Stage(position.batch, changed)])


def _evaluate(setup: Setup, position: Position) -> dict[str, float]:
    """Write a line a language to `evals.jsonl`; returns nats per token by language."""
    settings, derived = setup.plan.settings, setup.derived
    tokens = position.step * derived.batch
    per_token = float(derived.anatomy.flops_per_token(settings.context))
    samples, epochs = dealt(setup, position)
    losses = validate(setup.scorer, setup.texts, setup.processes)
    for lang, loss in losses.items():
        row = {
            "step": position.step,
            "tokens": tokens,
            "tokens_lang": samples.get(lang, 0) * settings.context,
            "epochs_lang": epochs.get(lang, 0.0),
            "flops": per_token * tokens,
            "lang": lang,
            "loss": loss.nats_per_token,
            "bits_per_byte": loss.bits_per_byte,
        }
        setup.log("evals.jsonl", row)
    return {lang: loss.nats_per_token for lang, loss in losses.items()}


def _last_losses(setup: Setup) -> dict[str, float]:
    """Of the newest evaluation, by language."""
    size = 1000 * len(setup.texts)  # bytes, more than its lines have
    rows = list(islice(newest_lines(setup.directory / "evals.jsonl", size), len(setup.texts)))
    return {row["lang"]: row["loss"] for row in reversed(rows)}


def dealt(setup: Setup, position: Position) -> tuple[dict[str, int], dict[str, float]]:
    """Samples of each language that were trained on, and how often its text was read."""
    course = setup.course(position.stages)
    trained = whole = course.dealt(position.batch)
    for first, end in position.skipped:
        before, after = course.dealt(first), course.dealt(end)
        trained = {lang: count - after[lang] + before[lang] for lang, count in trained.items()}
    epochs = course.epochs(position.batch)
    return trained, {lang: epochs[lang] * trained[lang] / max(whole[lang], 1) for lang in epochs}
