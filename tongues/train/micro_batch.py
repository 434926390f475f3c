"""How many samples a GPU computes at a time: as many as it holds, by what one and two take."""

import torch

from tongues.train.engine.processor import uncompiled
from tongues.train.engine.sharding import local_rows
from tongues.train.step import Setup

# Of a GPU's memory, which a run may fill: the allocator leaves gaps, and compiled layers and longer
# evaluations were not tried.
_FILLED = 0.9


def samples_that_fit(setup: Setup) -> int:
    """Samples that fit into memory with all that training will hold: a divisor of the share.

    One sample is computed and, where they surely fit, two, while the gradient of those before is
    held; the moments, which come with the first step, are counted. So nothing runs out of memory,
    and processes that exchange weights can do it together. The weights stay as they are.
    """
    settings, scorer, share = setup.plan.settings, setup.scorer, setup.samples_at_a_time
    device = setup.processor.device
    seeded = torch.Generator().manual_seed(0)

    def compute(samples: int) -> int:
        """Bytes at the peak."""
        torch.cuda.reset_peak_memory_stats(device)
        size = samples, settings.context + 1
        windows = torch.randint(setup.derived.anatomy.vocabulary, size, generator=seeded).to(device)
        objective, _ = scorer(windows)
        (objective / windows.numel()).backward()
        return torch.cuda.max_memory_allocated(device)

    trained = (weight for weight in scorer.parameters() if weight.requires_grad)
    moments = setup.derived.moments * sum(local_rows(weight)[0].numel() for weight in trained)
    free, _ = torch.cuda.mem_get_info(device)
    usable = _FILLED * (free + torch.cuda.memory_reserved(device))
    usable -= 0 if settings.offload else moments  # which the host then holds
    with uncompiled():
        compute(1)  # leaves a gradient, and what libraries keep
        held = torch.cuda.memory_allocated(device)
        one = compute(1)
        each = one - held
        if not setup.processes.any(one + each > usable):
            each = max(compute(2) - one, 1)
    scorer.zero_grad(set_to_none=True)
    fits = max(1, 1 + int((usable - one) // each))
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    divisors = (samples for samples in range(share, 0, -1) if share % samples == 0)
    return next(n for n in divisors if n == 1 or not setup.processes.any(n > fits))
