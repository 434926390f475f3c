"""A run's memory, foretold, and the settings that would fit where it does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tongues.errors import UserError
from tongues.models import Anatomy
from tongues.models.memory import PYTHON, state_bytes, step_bytes
from tongues.recipe import Train
from tongues.train.rules import compile_pays

if TYPE_CHECKING:
    from tongues.train.plan import Derived

__all__ = ["enough_memory", "run_bytes", "what_would_fit"]

_EXHAUSTED = ("can't allocate memory", "out of memory", "not enough memory")


def run_bytes(anatomy: Anatomy, settings: Train, batch: int, flops: float) -> int:
    """Bytes of one process at the peak, on a CPU.

    Python, weights and moments, and a step or, where that is more, the copy of the state that a
    checkpoint is written from. Gradients come as what the layers kept goes, unless there are
    several micro-batches, or little is kept. batch: tokens. flops: of the whole run, by which it
    is compiled or not.
    """
    state, at_a_time = state_bytes(anatomy), min(settings.micro_batch or batch, batch)
    bfloat16 = settings.precision == "bfloat16" or (
        settings.precision == "auto" and _multiplies_bfloat16()
    )
    step = step_bytes(
        anatomy,
        at_a_time,
        settings.context,
        bfloat16=bfloat16,
        compiled=settings.compile == "on"
        or (settings.compile == "auto" and compile_pays(flops, bfloat16)),
        recompute=settings.recompute,
    )
    if at_a_time < batch or settings.recompute:
        step += 4 * anatomy.parameters["total"]
    return PYTHON + state + max(step, state)


def what_would_fit(settings: Train, derived: "Derived", there: float) -> str:
    """The settings of the same run that would fit into `there` bytes, as a hint.

    A smaller micro-batch comes first, then layers computed anew: neither changes what is learned.
    """
    for recompute in (settings.recompute, True):
        samples = min(settings.micro_batch or derived.batch, derived.batch) // settings.context
        while samples >= 1:
            micro_batch = samples * settings.context
            changes = {"micro_batch": micro_batch, "recompute": recompute}
            smaller = settings.model_copy(update=changes)
            if run_bytes(derived.anatomy, smaller, derived.batch, derived.flops) <= there:
                said = f"`train.micro_batch: {micro_batch} tokens`"
                said += " with `train.recompute: true`" if recompute else ""
                return f"{said} would fit; the result stays the same up to rounding"
            samples //= 2
    return "choose a smaller shape or context: one sample at a time would not fit either"


@contextmanager
def enough_memory(name: str, settings: Train, derived: "Derived") -> Iterator[None]:
    """While entered, running out of memory is a UserError that names settings to try."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # PyTorch's are RuntimeErrors
        reason = str(error).lower()
        if not isinstance(error, MemoryError) and not any(x in reason for x in _EXHAUSTED):
            raise
        what = "out of memory; its checkpoints are kept, and the same command goes on from there"
        hint = what_would_fit(settings, derived, 0.7 * derived.memory)
        raise UserError(what, where=name, hint=hint, code="out_of_memory") from None


@cache
def _multiplies_bfloat16() -> bool:
    """Whether this machine's processor does, by what Linux says of it."""
    try:
        said = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return "avx512_bf16" in said or "amx_bf16" in said
