"""Tasks scored while a run trains: when, and where the scores are kept."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from transformers import PreTrainedModel

from tongues.files import read_lines
from tongues.quantities import show_seconds
from tongues.runs import TASK_SCORES
from tongues.train.checkpoint import Position
from tongues.train.engine.attention import OWN
from tongues.train.engine.processor import uncompiled
from tongues.train.engine.sharding import gathered
from tongues.train.progress import Meter
from tongues.train.step import Setup

__all__ = ["score_at", "task_steps"]


class _BrokenOff(Exception):
    """A signal came while tasks were scored."""


def task_steps(steps: int, every: float) -> set[int]:
    """The steps after which tasks are scored: 0, the last, and those between, evenly spaced."""
    return {round(min(1.0, n * every) * steps) for n in range(round(1 / every) + 2)}


def score_at(
    setup: Setup,
    position: Position,
    meter: Meter,
    came: Sequence[int],
    tell: Callable[[str], None],
) -> tuple[Position, bool]:
    """Score the run's tasks where it is due and not done; whether a signal broke it off.

    came: the signals so far. What is broken off is not kept, and is done when the run resumes.
    """
    tasks, file = setup.plan.settings.tasks, setup.directory / TASK_SCORES
    step = position.step
    if tasks is None or step not in task_steps(setup.derived.steps, tasks.every):
        return position, False
    if any(row["step"] == step for row in read_lines(file)):
        return position, False
    assert setup.score_tasks
    began = time.monotonic()

    def between() -> None:
        if came:
            raise _BrokenOff

    with _predicting(setup) as model:
        try:
            rows = setup.score_tasks(model, setup.tokens, between)
        except _BrokenOff:
            return position, True
    for row in rows:
        setup.log(TASK_SCORES, {"step": step, "tokens": step * setup.derived.batch} | row)
    took = time.monotonic() - began
    shown = ", ".join(
        f"{row['task']} in {row['lang']} {100 * row['accuracy']:.1f} %" for row in rows
    )
    tell(f"step {step:,}: {shown}; scored in {show_seconds(took)}")
    meter.restart(step)
    task_seconds = position.task_seconds + took
    return replace(position, seconds=meter.seconds, task_seconds=task_seconds), False


@contextmanager
def _predicting(setup: Setup) -> Iterator[PreTrainedModel]:
    """The model as it is used after training: with all weights, and attention that takes caches.

    On a processor in float32, on a GPU in the type that it computes in.
    """
    model = setup.scorer.model
    before = getattr(model.config, "_attn_implementation", "")
    setup.scorer.eval()
    try:
        if before.startswith(OWN):
            model.set_attn_implementation("sdpa")
        with uncompiled(), gathered(setup.scorer):
            yield model
    finally:
        if before.startswith(OWN):
            model.set_attn_implementation(before)
        setup.scorer.train()
