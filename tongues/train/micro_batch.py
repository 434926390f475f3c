"""How many samples a process computes at a time: as many as a GPU holds, by trial or by count."""

from collections.abc import Callable

import torch

from tongues.hardware import Machine
from tongues.recipe import Train
from tongues.train.engine.processor import uncompiled
from tongues.train.gpu_memory import WEIGHT
from tongues.train.plan import Derived
from tongues.train.rules import is_exhausted, micro_batch_that_fits
from tongues.train.step import Setup

__all__ = ["largest", "micro_batch_by_count", "samples_that_fit"]


def micro_batch_by_count(settings: Train, derived: Derived, machine: Machine) -> int | None:
    """Tokens at a time that each of several GPUs should hold; None: its share of a batch at once.

    For processes that exchange weights in every pass, where one that failed in a trial would leave
    the others waiting. Without GPUs the whole share.
    """
    if machine.device == "cpu":
        return None
    sizes = derived.anatomy, settings, derived.batch, derived.flops, machine
    tokens, recompute = micro_batch_that_fits(*sizes) or (settings.context, settings.recompute)
    return tokens if recompute == settings.recompute else settings.context


def samples_that_fit(setup: Setup) -> int:
    """Samples whose forward and backward pass fit into memory with what training will hold.

    The process's share of a batch, or half as many until that fits. As much as the moments take,
    and the gradient of the micro-batches before, is held meanwhile. The weights stay as they are.
    """
    settings, scorer, derived = setup.plan.settings, setup.scorer, setup.derived
    device, most = setup.processor.device, setup.samples_at_a_time
    seeded = torch.Generator().manual_seed(0)

    def compute(samples: int) -> None:
        each = derived.moments + (WEIGHT if samples < most else 0)
        each = 0 if settings.offload else each  # which the host then holds
        held = torch.empty(each * derived.trained, dtype=torch.uint8, device=device)
        size = samples, settings.context + 1
        windows = torch.randint(derived.anatomy.vocabulary, size, generator=seeded).to(device)
        try:
            objective, _ = scorer(windows, settings.z_loss)
            (objective / windows.numel()).backward()
        finally:
            scorer.zero_grad(set_to_none=True)
            del held

    with uncompiled():
        samples = largest(compute, most)
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    return samples


def largest(compute: Callable[[int], None], most: int) -> int:
    """The first of `most`, half of it, … down to 1 for which computing does not exhaust memory."""
    samples = most
    while True:
        try:
            compute(samples)
        except (MemoryError, RuntimeError) as error:
            if samples == 1 or not is_exhausted(error):
                raise
        else:
            return samples
        samples //= 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
