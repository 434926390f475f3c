"""Compiled layers, tried before they are used: a compiler that fails or errs costs speed alone."""

from typing import NoReturn

import torch
from torch import Tensor

from tongues.core.errors import UserError
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import decoder_layers, reason_of, uncompiled
from tongues.train.engine.scorer import Scorer
from tongues.train.engine.sharding import is_sharded, local_rows, synchronize
from tongues.train.engine.trial import differences, random_state, take_gradients
from tongues.train.engine.vocabulary import powers

# Relative, of the loss and of the gradient of each kind of weights. Compilers keep in float32 what
# is written as rounded to bfloat16 in between: in bfloat16 the loss was off by 0.001 at most, the
# gradient by 0.07 in SmolLM2-135M and 0.1 in small models with experts; in float32 by 4e-6.
# By whether in bfloat16; in float32 products may be TF32. Chosen several times above these.
_LOSS, _GRADIENT = {True: 0.01, False: 1e-3}, {True: 0.5, False: 0.01}
_LITTLE = 1e-30  # in place of the weight of a balance loss, which is no sum over samples


def try_compiled(scorer: Scorer, windows: Tensor, processes: Processes) -> str | None:
    """Compile the layers, and compare them with what is written; None, or why they cannot be used.

    Then they are computed as written from here on. windows: one micro-batch, as training reads it,
    so that it compiles nothing again; after the number of threads is set. All processes must call
    it. It leaves no gradients, and random numbers as they were. Where one process alone fails, the
    others wait for it in vain, as long as they do in a step.
    """
    device, narrow = windows.device, scorer.processor.bfloat16
    weight, scorer.balance_weight = scorer.balance_weight, scorer.balance_weight and _LITTLE
    scorer.train()
    synchronize(scorer, True)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        with uncompiled():  # sample by sample, since it needs more memory than compiled
            before = random_state(device)
            written = _compute(scorer, windows.split(1), windows.numel())
            drawn = not torch.equal(before, random_state(device))
        reason, broke_off = None, False
        try:
            compiled = _compute(scorer, [windows], windows.numel())
            if not drawn:
                reason = _difference(compiled, written, narrow)
        except Exception as error:  # compilers, their kernels, and what these need: any may fail
            reason, broke_off = reason_of(error), True
        if processes.any(reason is not None):
            reason = reason or "another process cannot use them"
            _write_back(scorer)
            if broke_off and is_sharded(scorer):
                _start_again(scorer, reason)
            with uncompiled():
                again = _compute(scorer, windows.split(1), windows.numel())
            if processes.any(not drawn and _difference(again, written, narrow) is not None):
                _refuse(reason)
    scorer.balance_weight, scorer.balance = weight, None
    return reason


def _compute(
    scorer: Scorer, parts: list[Tensor] | tuple[Tensor, ...], size: int
) -> tuple[float, dict[str, Tensor]]:
    scorer.zero_grad(set_to_none=True)
    nats = 0.0
    for part in parts:
        objective, of_part = scorer(part)
        (objective / size).backward()
        nats += float(of_part)
    return nats, {name: local_rows(grad)[0] for name, grad in take_gradients(scorer).items()}


def _difference(
    found: tuple[float, dict[str, Tensor]], expected: tuple[float, dict[str, Tensor]], narrow: bool
) -> str | None:
    off = abs(found[0] - expected[0]) / max(abs(expected[0]), 1e-9)
    if not off <= _LOSS[narrow]:
        return f"compiled, they give a loss that is {off:.1%} off"
    for kind, off in differences(found[1], expected[1]).items():
        if not off <= _GRADIENT[narrow]:
            return f"compiled, the gradient of `{kind}` is {off:.0%} off"
    return None


def _write_back(scorer: Scorer) -> None:
    """Compute as written."""
    for layer in decoder_layers(scorer.model):
        layer.__dict__.pop("_compiled_call_impl", None)  # what `compile` set; no other way back
    scorer.powers = powers
    scorer.zero_grad(set_to_none=True)


def _start_again(scorer: Scorer, reason: str) -> None:
    """Forget a pass of a shared-out model that broke off in the middle."""
    reset = getattr(scorer, "reset_iter_state", None)  # newer than the oldest PyTorch we run on
    if reset is None:
        _refuse(reason)
    reset()


def _refuse(reason: str) -> NoReturn:
    what = f"layers cannot be compiled here: {reason}"
    raise UserError(what, where="train.compile", hint="set `compile: off`")
