"""What a short trial finds before the first step: threads of a processor, samples that a GPU holds.

Both are tried on random tokens, by all processes together; the weights stay as they are.
"""

import time
from collections.abc import Callable

import torch

from tongues.train.engine.processor import uncompiled
from tongues.train.engine.sharding import local_rows
from tongues.train.step import Setup

_FLOPS = 4e9  # of a pass: about a tenth of a second
_SHARE = 1e-3  # of the run's operations, in a pass at most
_PASSES = 3  # of a trial; chosen, as the share above and the gain below
_PAYS = 0.95  # of the time, at most, that twice the threads must take
# Of a GPU's memory, which a run may fill: the allocator leaves gaps, and compiled layers and longer
# evaluations were not tried.
_FILLED = 0.9


def tries_threads(setup: Setup) -> bool:
    """Whether there is a number of threads to choose: on a CPU, where the recipe names none."""
    on_cpu = setup.processor.device.type == "cpu"
    return on_cpu and setup.plan.settings.threads is None and setup.processor.threads > 1


def choose_threads(setup: Setup) -> int:
    """Compute on the number of threads that trains fastest, which is returned.

    At most `setup.processor.threads`. All processes take part; the weights stay as they are.
    """
    settings, derived, scorer = setup.plan.settings, setup.derived, setup.scorer
    per_sample = float(derived.anatomy.flops_per_token(settings.context)) * settings.context
    samples = int(min(_FLOPS, _SHARE * derived.flops) / per_sample)
    size = max(1, min(samples, setup.samples_at_a_time)), settings.context + 1
    seeded = torch.Generator().manual_seed(0)
    windows = torch.randint(derived.anatomy.vocabulary, size, generator=seeded)

    def seconds(threads: int) -> float:
        torch.set_num_threads(threads)
        start = 0.0
        for number in range(1 + _PASSES):
            if number == 1:  # the pass before starts the threads
                start = time.perf_counter()
            objective, _ = scorer(windows)
            (objective / windows.numel()).backward()
            scorer.zero_grad(set_to_none=True)
        return setup.processes.sum([time.perf_counter() - start])[0]

    with uncompiled():
        chosen = fastest(seconds, setup.processor.threads)
    torch.set_num_threads(chosen)
    return chosen


def fastest(seconds: Callable[[int], float], most: int) -> int:
    """The number of threads, at most `most`, that takes the fewest seconds; fewer where equal.

    It is halved for as long as that does not take longer.
    """
    number = most
    taken = {number: seconds(number)}
    while number > 1 and taken[number] == min(taken.values()):
        number //= 2
        taken[number] = seconds(number)
    best = max(taken)
    for number in sorted(taken, reverse=True):
        if taken[best] > _PAYS * taken[number]:
            best = number
    return best


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
