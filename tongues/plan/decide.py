"""Which option to take: the rule in words, as code.

Continue a base where one fits the GPUs: of those that were named the cheapest whose forecast is
within half a per cent of the best, of the catalogue's the newest within 2 %.
Measure it first where its makers name the language: published projects on such bases gained
little. From scratch only where no base fits, or own laws of both ways say so with a probability of
80 %; experts likewise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tongues.plan.options import Kind, Option
from tongues.plan.question import Question

LIKELY = 0.8  # probability with which own laws of two ways decide between them
_ALIKE = 0.02  # of the loss, within which the newest base is taken: a law does not know quality
FLAT = 0.005  # a loss this little above the lowest is as good: laws are off by more

Code = Kind | Literal["measure", "either"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, with which option.

    code: `measure` is to continue after a measurement, `either` that own laws do not decide.
    rival: the best of another kind, by own laws. likely: the probability that the option's loss is
    lower than the rival's.
    """

    code: Code
    option: Option
    rival: Option | None = None
    likely: float | None = None

    @property
    def decided(self) -> bool:
        """Whether one option is advised."""
        return self.code != "either"


def decide(options: Sequence[Option], question: Question) -> Decision:
    """The option to take, of one or more."""
    pick = _newest if question.chosen else _cheapest
    kinds = dict.fromkeys(option.kind for option in options)
    best = {kind: pick([one for one in options if one.kind == kind]) for kind in kinds}
    if len(best) > 1 and all(option.loss for option in best.values()):
        return _by_laws(list(best.values()))
    order = ("continue", "experts", "scratch")
    option = min(best.values(), key=lambda one: order.index(one.kind))
    base = option.base
    if base and set(base.languages) & set(question.languages) and base.name not in question.losses:
        return Decision("measure", option)
    return Decision(option.kind, option)


def _by_laws(best: Sequence[Option]) -> Decision:
    """By the draws of own laws, which all options of a plan have, or none."""
    first, second, *_ = sorted(best, key=lambda one: one.loss.value if one.loss else 0.0)
    assert first.mean is not None
    assert second.mean is not None
    likely = float(np.mean(first.mean < second.mean))
    return Decision(first.kind if likely >= LIKELY else "either", first, second, likely)


def _cheapest(options: Sequence[Option]) -> Option:
    """The cheapest of those whose loss is as good as the lowest; without losses the first."""
    return min(_good(options, FLAT), key=lambda one: one.flops, default=options[0])


def _newest(options: Sequence[Option]) -> Option:
    """The newest base of those whose forecasts are alike; of one month the cheapest."""
    alike = _good(options, _ALIKE) or options
    return max(alike, key=lambda one: (one.model.released, -one.flops))


def _good(options: Sequence[Option], within: float) -> list[Option]:
    known = [(one.loss.value, one) for one in options if one.loss]
    lowest = min((loss for loss, _ in known), default=0.0)
    return [one for loss, one in known if loss <= lowest * (1.0 + within)]
