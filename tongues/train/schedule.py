"""The learning rate through a run, and when the run is evaluated."""

import math
from typing import ClassVar

from tongues.core.quantities import Share
from tongues.core.registry import Registry
from tongues.recipe import Schedule, Span, Train

SCHEDULES: Registry[type[Schedule]] = Registry("schedule", "tongues.schedules")


@SCHEDULES.add
class Cosine(Schedule):
    """Falls all the way along a cosine."""

    name: ClassVar[str] = "cosine"
    summary: ClassVar[str] = "falls along a cosine"

    def share(self, step: int, span: Span) -> float:
        """Of the peak."""
        fallen = 0.5 * (1 + math.cos(math.pi * _progress(step, span.warm, span.steps)))
        return span.final + (1.0 - span.final) * fallen


@SCHEDULES.add
class Linear(Schedule):
    """Falls all the way in a line."""

    name: ClassVar[str] = "linear"
    summary: ClassVar[str] = "falls linearly"

    def share(self, step: int, span: Span) -> float:
        """Of the peak."""
        return 1.0 + (span.final - 1.0) * _progress(step, span.warm, span.steps)


@SCHEDULES.add
class Wsd(Schedule):
    """Stays at the peak until its decay."""

    name: ClassVar[str] = "wsd"
    summary: ClassVar[str] = "constant, then falls linearly"

    decay: Share = 0.2
    """Last share of the steps, down to the minimum."""

    def share(self, step: int, span: Span) -> float:
        """Of the peak."""
        first = max(span.warm, span.steps - 1 - round(self.decay * span.steps))
        return 1.0 + (span.final - 1.0) * _progress(step, first, span.steps)

    def check(self, warmup: float, final: float) -> None:
        """All parts fit into the run."""
        if (total := warmup + self.decay) > 1 + 1e-9:
            raise ValueError(f"warm-up and decay take {total * 100:.4g}% of the steps")


def rate_at(step: int, steps: int, peak: float, settings: Train) -> float:
    """Rate of step `step` (from 0) of `steps`: a linear warm-up, then the schedule.

    A continued run does the same from the start (re-warm-up).
    """
    warm = max(1, round(settings.warmup * steps))
    if step < warm:
        return peak * (step + 1) / warm
    return peak * settings.schedule.share(step, Span(steps, warm, settings.min_learning_rate))


def evaluation_steps(steps: int, count: int) -> list[int]:
    """The steps after which the held-out loss is taken: the start, then log-spaced to the end."""
    first = max(1.0, steps / 100)
    spaced = (first * (steps / first) ** (i / max(1, count - 1)) for i in range(count - 1))
    return sorted({0, steps, *(min(steps, math.ceil(step)) for step in spaced)})


def scored_tokens(train: Train, held_out: object, languages: int, steps: int) -> int:
    """Held-out tokens that a run's evaluations read; 0 where `held_out` is not a number of them."""
    each = min(train.eval_tokens, held_out) if isinstance(held_out, int) else 0
    each *= len(train.eval_languages) or languages
    return each * len(evaluation_steps(steps, train.num_evals))


def _progress(step: int, first: int, steps: int) -> float:
    """Share of the way from step `first` to the last."""
    return min(1.0, max(0, step - first) / max(1, steps - 1 - first))
