"""How many tokens a second the mixture deals, on one core.

Run as `python benchmarks/deal.py`; `deal.txt` holds what it printed.
"""

import time

import numpy as np

from tongues.tokens import Mixture

TOKENS = 50_000_000  # of each language
SHARES = {"qaa": 0.05, "qab": 0.25, "qac": 0.7}


def dealt_per_second(context: int, samples: int, seconds: float = 2.0) -> float:
    """Tokens per second of batches of `samples` windows of `context` tokens."""
    rng = np.random.default_rng(1)
    sources = {lang: rng.integers(0, 16_384, TOKENS).astype(np.uint16) for lang in SHARES}
    mixture = Mixture(sources, SHARES, context, seed=1)
    mixture.batch(0, samples)
    start, step = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        step += 1
        mixture.batch(step, samples)
    return step * samples * context / (time.perf_counter() - start)


if __name__ == "__main__":
    for context, samples in ((128, 16), (256, 64), (1024, 64), (2048, 512)):
        rate = dealt_per_second(context, samples) / 1e6
        print(f"context {context:5}, {samples:4} samples a step: {rate:6.1f} M tokens/s")
