"""The learning rate through a run, when only embeddings learn, and when the run is evaluated."""

import math

from tongues.recipe import Train

__all__ = ["embeddings_alone", "evaluation_steps", "rate_at"]


def rate_at(step: int, steps: int, peak: float, settings: Train) -> float:
    """Rate of step `step` (from 0) of `steps`, by the schedule of the settings.

    All begin with a linear warm-up and end at `final_rate` x peak. Between them `cosine` and
    `linear` fall all the way; `wsd` stays at the peak until its decay; `infinite` falls to a
    plateau by a cosine and stays there until its decay (Ibrahim et al. 2024). A continued run
    does the same from the start (re-warm-up).
    """
    warm = max(1, round(settings.warmup * steps))
    if step < warm:
        return peak * (step + 1) / warm
    last, final = steps - 1, settings.final_rate
    if settings.schedule == "cosine":
        return peak * _cosine(1.0, final, _passed(step, warm, last))
    if settings.schedule == "linear":
        return peak * _line(1.0, final, _passed(step, warm, last))
    decay = max(warm, last - round(settings.decay * steps))
    if settings.schedule == "wsd":
        return peak * _line(1.0, final, _passed(step, decay, last))
    cooled = min(decay, warm + round(settings.cooldown * steps))
    if step <= cooled:
        return peak * _cosine(1.0, settings.plateau, _passed(step, warm, cooled))
    return peak * _line(settings.plateau, final, _passed(step, decay, last))


def embeddings_alone(step: int, steps: int, settings: Train) -> bool:
    """Whether step `step` (from 0) is among the first, in which only embeddings learn."""
    return step < round(settings.embeddings_first * steps)


def evaluation_steps(steps: int, count: int) -> list[int]:
    """The steps after which the held-out loss is taken: the start, then log-spaced to the end."""
    first = max(1.0, steps / 100)
    spaced = (first * (steps / first) ** (i / max(1, count - 1)) for i in range(count - 1))
    return sorted({0, steps, *(min(steps, math.ceil(step)) for step in spaced)})


def _passed(step: int, first: int, last: int) -> float:
    """How much of the way from one step to another lies behind, from 0 to 1."""
    return min(1.0, max(0, step - first) / max(1, last - first))


def _line(start: float, end: float, passed: float) -> float:
    return start + (end - start) * passed


def _cosine(start: float, end: float, passed: float) -> float:
    return end + (start - end) * 0.5 * (1 + math.cos(math.pi * passed))
