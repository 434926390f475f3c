"""The learning rate through a run, and when it is evaluated."""

import math

__all__ = ["evaluation_steps", "rate_at"]


def rate_at(step: int, steps: int, peak: float, warmup: float, final: float) -> float:
    """Rate of step `step` (from 0): a linear warm-up, then a cosine down to `final` x peak.

    `warmup` is a share of the steps. A continued run does the same from the start (re-warm-up).
    """
    warm = max(1, round(warmup * steps))
    if step < warm:
        return peak * (step + 1) / warm
    passed = (step - warm) / max(1, steps - 1 - warm)
    return peak * (final + (1 - final) * 0.5 * (1 + math.cos(math.pi * min(passed, 1.0))))


def evaluation_steps(steps: int, count: int) -> list[int]:
    """The steps after which the held-out loss is taken: the start, then log-spaced to the end."""
    first = max(1.0, steps / 100)
    spaced = (first * (steps / first) ** (i / max(1, count - 1)) for i in range(count - 1))
    return sorted({0, steps, *(min(steps, math.ceil(step)) for step in spaced)})
