"""The share of replay that each continued way needs to keep the source language."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tongues.errors import UserError
from tongues.laws import Law
from tongues.laws.replay import Advice, advise_replay
from tongues.plan.ways import Way

__all__ = ["shares_to_keep"]

_ROUNDS = 50
_CLOSE = 1e-6
_DIGITS = 2  # of a share, which is rounded up to them


def shares_to_keep(
    ways: Sequence[Way],
    law: Law | None,
    *,
    tolerance: float,
    starting: float | None,
    flops: float | None,
    target_loss: float | None,
) -> dict[str, Advice]:
    """For each continued way, by its name, the least share that keeps the source language.

    Ways that no share keeps are left out; a UserError when none is left, or nothing can be told.

    law: of forgetting. tolerance: rise of the source loss that is allowed. starting: that loss of
    the base, nats per token. flops, target_loss: what the ways are asked, as in a `Question`.
    """
    continued = [way for way in ways if way.strategy == "cpt" and not way.of_compute]
    if law is None:
        what, code = "no law in hand tells what replay keeps", "no_forgetting_law"
        hint = "fit one to your runs by `tongues fit --law forgetting`, and give it by `--law`"
        raise UserError(what, where="--keep", hint=hint, code=code)
    if starting is None:
        what, code = "the base's loss on its own language is not known", "source_loss_missing"
        raise UserError(what, where="--keep", hint="give it by --source-loss", code=code)
    if not continued:
        what = "no law by size and tokens tells of continued training"
        raise UserError(what, where="--keep", hint="give a `cpt` law by `--law`", code="no_cpt_law")
    found: dict[str, Advice] = {}
    refusals: list[UserError] = []
    for way in continued:
        try:
            found[way.name] = _least(way, law, tolerance, starting, flops, target_loss)
        except UserError as error:
            refusals.append(error)
    if not found:
        first = refusals[0]
        raise UserError(first.what, where="--keep", hint=first.hint, code=first.code)
    return found


def _least(
    way: Way,
    law: Law,
    tolerance: float,
    starting: float,
    flops: float | None,
    target_loss: float | None,
) -> Advice:
    """The share for the tokens of a run that itself depend on the share."""
    advice = Advice(0.0, None)
    for _ in range(_ROUNDS):
        mixed = replace(way, replay=advice.share)
        budget = flops or mixed.compute(target_loss or math.nan)
        tokens = float(mixed.sizes(np.array(budget))[1])
        if not math.isfinite(tokens):
            what = f"`{way.name}` does not get there with {advice.share * 100:.2g}% of replay"
            raise UserError(what, hint="ask for a higher loss", code="loss_out_of_reach")
        before, advice = advice, advise_replay(law, tolerance, tokens, starting)
        if abs(advice.share - before.share) <= _CLOSE:
            break
    return replace(advice, share=_rounded_up(advice.share))


def _rounded_up(share: float) -> float:
    """To two digits: 7.31 % is 7.4 %."""
    if share == 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(share)) + 1 - _DIGITS)
    return float(f"{math.ceil(share / step - _CLOSE) * step:.{_DIGITS}g}")
