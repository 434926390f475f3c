"""The threads of a run: as many as a short trial finds fastest, on this machine as it is now."""

import time
from collections.abc import Callable

import torch

from tongues.train.engine.processor import uncompiled
from tongues.train.step import Setup

_FLOPS = 4e9  # of a pass: about a tenth of a second
_SHARE = 1e-3  # of the run's operations, in a pass at most
_PASSES = 3  # of a trial; chosen, as the share above and the gain below
_PAYS = 0.95  # of the time, at most, that twice the threads must take


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
