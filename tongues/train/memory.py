"""A run's memory, foretold, and what would fit where it does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tongues.errors import UserError
from tongues.models import Anatomy
from tongues.models.memory import PYTHON, state_bytes, step_bytes
from tongues.recipe import Train
from tongues.train.rules import compile_pays

__all__ = ["enough_memory", "run_bytes", "what_would_fit"]

_EXHAUSTED = ("can't allocate memory", "out of memory", "not enough memory")


def run_bytes(anatomy: Anatomy, settings: Train, batch: int, flops: float) -> int:
    """Bytes of one process at the peak, on a CPU.

    Python, weights, gradients and moments, the copy of them that a checkpoint is written from,
    and a step. batch: tokens. flops: of the whole run, by which it is compiled or not.
    """
    compiled = settings.compile == "on" or (settings.compile == "auto" and compile_pays(flops))
    step = step_bytes(
        anatomy,
        min(settings.micro_batch or batch, batch),
        settings.context,
        bfloat16=settings.precision == "bfloat16"
        or (settings.precision == "auto" and _multiplies_bfloat16()),
        compiled=compiled,
        recompute=settings.recompute,
    )
    return PYTHON + state_bytes(anatomy) + 12 * anatomy.parameters["total"] + step


def what_would_fit(
    anatomy: Anatomy, settings: Train, batch: int, flops: float, there: float
) -> str:
    """The settings of the same run that would fit into `there` bytes, as a hint.

    A smaller micro-batch comes first, then layers computed anew: neither changes what is learned.
    """
    for recompute in (False, True):
        micro_batch = min(settings.micro_batch or batch, batch)
        while micro_batch > settings.context:
            micro_batch = micro_batch // (2 * settings.context) * settings.context
            micro_batch = max(micro_batch, settings.context)
            changes = {"micro_batch": micro_batch, "recompute": recompute}
            smaller = settings.model_copy(update=changes)
            if run_bytes(anatomy, smaller, batch, flops) <= there:
                said = f"`train.micro_batch: {micro_batch} tokens`"
                said += " and `train.recompute: true`" if recompute else ""
                return f"{said} would fit, with the same result up to rounding"
    return "choose a smaller shape or context: not even one sample at a time would fit"


@contextmanager
def enough_memory(
    anatomy: Anatomy, settings: Train, batch: int, flops: float, name: str
) -> Iterator[None]:
    """While entered, running out of memory is a UserError with settings that would fit."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        reason = str(error).lower()
        if not isinstance(error, MemoryError) and not any(x in reason for x in _EXHAUSTED):
            raise
        needed = run_bytes(anatomy, settings, batch, flops)
        hint = what_would_fit(anatomy, settings, batch, flops, needed / 2)
        what = "out of memory; its checkpoints are kept, and it goes on from the newest"
        raise UserError(what, where=name, hint=hint, code="out_of_memory") from error


@cache
def _multiplies_bfloat16() -> bool:
    """Whether this machine's processor does, by what Linux says of it."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags
