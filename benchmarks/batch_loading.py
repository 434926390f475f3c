"""Tokens per second of the mixture's batches, versus Hugging Face `datasets`; exactness of shares.

`datasets` interleaves the same windows by probabilities, from tables and as a stream.
Run as `python benchmarks/batch_loading.py`; `batch_loading.txt` has its output.
"""

import time
from collections.abc import Callable, Iterator
from datetime import date
from statistics import median

import datasets
import numpy as np

from tongues.tokens import Mixture

TOKENS = 8_000_000  # of each language
SHARES = {"qaa": 0.05, "qab": 0.25, "qac": 0.7}
SECONDS = 1.5
TURNS = 5

Batches = Iterator[np.ndarray]


def ours(sources: dict[str, np.ndarray], context: int, samples: int) -> Batches:
    """Batches of the mixture."""
    mixture = Mixture(sources, SHARES, context, 1, samples)
    step = 0
    while True:
        yield mixture.batch(step)
        step += 1


def theirs(sources: dict[str, np.ndarray], context: int, samples: int, stream: bool) -> Batches:
    """Batches of interleaved data sets, each repeated when it runs out."""
    tables = []
    for tokens in sources.values():
        windows = len(tokens) // context
        rows = tokens[: windows * context].reshape(windows, context).astype(np.int64)
        table = datasets.Dataset.from_dict({"ids": rows})
        tables.append(table.to_iterable_dataset() if stream else table)
    mixed = datasets.interleave_datasets(
        tables,
        probabilities=list(SHARES.values()),
        seed=1,
        stopping_strategy="all_exhausted",
    ).with_format("numpy")
    while True:
        for batch in mixed.iter(batch_size=samples):
            yield batch["ids"]


def tokens_per_second(batches: Batches) -> float:
    """The rate after a first batch."""
    next(batches)
    start, tokens = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        tokens += next(batches).size
    return tokens / (time.perf_counter() - start)


def largest_deviation(choices: np.ndarray) -> float:
    """The largest deviation of a language from its share at any time, in samples."""
    count = np.arange(1, len(choices) + 1)
    return max(
        float(np.abs(np.cumsum(choices == number) - share * count).max())
        for number, share in enumerate(SHARES.values())
    )


def main() -> None:
    """Print rates side by side, several turns each, and how exact the shares are."""
    datasets.disable_progress_bars()
    what = f"one core, M tokens/s, median of {TURNS} turns (least, most)"
    print(f"batch loading, {date.today()}, {what}\n")
    rng = np.random.default_rng(1)
    sources = {lang: rng.integers(0, 16_384, TOKENS).astype(np.uint16) for lang in SHARES}
    for context, samples in ((128, 16), (256, 64), (1024, 64), (2048, 512)):
        print(f"context {context}, {samples} samples a step")
        makers: dict[str, Callable[[], Batches]] = {
            "ours": lambda c=context, s=samples: ours(sources, c, s),
            "datasets, tables": lambda c=context, s=samples: theirs(sources, c, s, False),
            "datasets, stream": lambda c=context, s=samples: theirs(sources, c, s, True),
        }
        open_batches = {name: make() for name, make in makers.items()}
        rates: dict[str, list[float]] = {name: [] for name in makers}
        for _ in range(TURNS):
            for name, batches in open_batches.items():
                rates[name].append(tokens_per_second(batches) / 1e6)
        for name, rate in rates.items():
            ratios = sorted(a / b for a, b in zip(rates["ours"], rate, strict=True))
            spread = f"({min(rate):.1f}, {max(rate):.1f})"
            ratio = f"ours is {median(ratios):.1f} × [{ratios[0]:.1f}, {ratios[-1]:.1f}]"
            print(f"  {name:17} {median(rate):7.1f} {spread:16} {ratio if name != 'ours' else ''}")
    samples = 100_000
    source, _, _ = Mixture(sources, SHARES, 128, seed=1).locate(np.arange(samples))
    drawn = np.random.default_rng(1).choice(len(SHARES), samples, p=list(SHARES.values()))
    print(f"\nlargest deviation from a share in {samples:,} samples")
    print(f"  ours                    {largest_deviation(source):8.2f} samples")
    print(f"  drawn by probabilities  {largest_deviation(drawn):8.2f} samples")


if __name__ == "__main__":
    main()
