"""How much of the source language to replay: a forgetting law turned round."""

import math
from dataclasses import dataclass

import numpy as np

from tongues.errors import UserError
from tongues.laws.law import Law
from tongues.laws.uncertainty import percentiles

__all__ = ["LeastReplay", "find_replay"]

_MOST = 0.95  # share that leaves too little of anything else


@dataclass(frozen=True, slots=True)
class LeastReplay:
    """The smallest share of replay, of all tokens, that keeps the source language.

    interval: 95 % of it over the law's draws, infinite where in some no share suffices; None
        without draws.
    """

    share: float
    interval: tuple[float, float] | None


def find_replay(law: Law, tolerance: float, D: float, S: float) -> LeastReplay:
    """The smallest share with which a run of D tokens ends at most `tolerance` above S.

    A UserError where no share does.

    law: one of forgetting. tolerance: rise of the source loss, 0.01 for 1 %. S: nats per token
    on the source before the first step.
    """
    least_replay, level = law.equation.least_replay, (1.0 + tolerance) * S
    if least_replay is None:
        raise UserError(f"the {law.form} law does not know replay", where="law")
    share = float(least_replay(law.params, level, D, S))
    if not share <= _MOST:
        reason = f"that would take {share:.1%} of all tokens"
        if math.isnan(share):
            reason = f"even source text alone ends at {float(law.loss(D=D, r=1.0, S=S)):.3f}"
        raise UserError(
            f"no replay keeps the source's loss of {S:.3f} within {tolerance * 100:g}% over "
            f"{D:.3g} tokens by this law: {reason}",
            hint="allow a higher rise, or more tokens, over which more is learned again",
            code="cannot_keep",
        )
    if not law.draws:
        return LeastReplay(share, None)
    shares = least_replay(law.draws, level, D, S)
    low, high = percentiles(np.where(np.isnan(shares), np.inf, shares))
    return LeastReplay(share, (float(low), float(high)))
