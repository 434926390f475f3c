"""Synthetic text: how fast it is written, what divergence does, how much there is to learn.

Run `python benchmarks/synthetic_text.py`; the same lines go to `synthetic_text.txt`.
"""

import lzma
import random
import re
import zlib
from collections import Counter, defaultdict
from datetime import date
from itertools import chain
from pathlib import Path
from time import perf_counter

import numpy as np

from tongues.text.synthetic import (
    Drift,
    SyntheticLanguage,
    World,
    documents,
    make_family,
    shared_order,
    shared_words,
)

DISTANCES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
SEEDS = range(10)


def speed() -> list[str]:
    """Time the writing of 7,680 documents, 7 times over, in languages of three scripts."""
    family = make_family(World.of(0), {f"qa{letter}": Drift() for letter in "abcdefghij"}, 0)
    by_script = {language.script: language for language in reversed(family.values())}
    lines = ["speed, MB/s of UTF-8 on one core (10⁶ bytes), 7 repeats", "script      best  median"]
    for script in ("Latin", "Greek", "Georgian"):
        rates = sorted(_rate(by_script[script]) for _ in range(7))
        lines.append(f"{script:10s} {rates[-1]:5.1f}  {rates[3]:6.1f}")
    return lines


def _rate(language: SyntheticLanguage) -> float:
    begin = perf_counter()
    size = sum(len(document.text.encode()) for document in documents(language, 0, 7680))
    return size / (perf_counter() - begin) / 1e6


def relatedness() -> list[str]:
    """Measure what parent and child share at each divergence, over seeds."""
    lines = [
        f"shared with the parent, mean ± standard deviation over {len(SEEDS)} families",
        "divergence  words          order          same script",
    ]
    worlds = [World.of(seed) for seed in SEEDS]
    for divergence in DISTANCES:
        drifts = {"qaa": Drift(), "qab": Drift("qaa", divergence)}
        pairs = [tuple(make_family(world, drifts, world.seed).values()) for world in worlds]
        words, orders = (
            np.array([share(a, b) for a, b in pairs]) for share in (shared_words, shared_order)
        )
        script = np.mean([a.script == b.script for a, b in pairs])
        lines.append(
            f"{divergence:8.2f}  {words.mean():.3f} ± {words.std(ddof=1):.3f}"
            f"  {orders.mean():.3f} ± {orders.std(ddof=1):.3f}  {script:.1f}"
        )
    return lines


def structure() -> list[str]:
    """Compare what a word costs alone and in context, and the text with its shuffled words."""
    lines = [
        "structure of 6,000 documents: slope of log frequency over log rank (10 to 3,000);",
        "bits per word of the last 500, by frequency and by Witten-Bell trigrams with a cache;",
        "bits per byte of the first 1,500, as written → with their words in random order",
        "seed  script      words   types  slope  alone  context  zlib         lzma",
    ]
    for seed in range(4):
        language = make_family(World.of(seed), {"qaa": Drift()}, seed)["qaa"]
        texts = [document.text for document in documents(language, 0, 6000)]
        split = [re.findall(r"\w+|[^\w\s]", text) for text in texts]
        counts = np.array(sorted(Counter(chain(*split)).values(), reverse=True))
        ranks = np.unique(np.geomspace(10, 3000, 40).astype(int))
        slope = np.polyfit(np.log(ranks), np.log(counts[ranks - 1]), 1)[0]
        alone, context = _bits_per_word(split[:5500], split[5500:])
        text = " ".join(texts[:1500])
        shuffled = text.split(" ")
        random.Random(0).shuffle(shuffled)
        packed = "  ".join(
            " → ".join(f"{8 * len(pack(raw)) / len(raw):.2f}" for raw in (plain, mixed))
            for plain, mixed in [(text.encode(), " ".join(shuffled).encode())]
            for pack in (zlib.compress, lzma.compress)
        )
        lines.append(
            f"{seed:4d}  {language.script:9s} {counts.sum():7,d}  {len(counts):6,d}  {slope:5.2f}"
            f"  {alone:5.2f}  {context:7.2f}  {packed}"
        )
    return lines


def _bits_per_word(seen: list[list[str]], unseen: list[list[str]]) -> tuple[float, float]:
    after: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for words in seen:
        for first, second, third in zip(["", "", *words], ["", *words], words, strict=False):
            for context in ((), (second,), (first, second)):
                after[context][third] += 1
    totals = {context: counts.total() for context, counts in after.items()}
    floor = 0.1 / len(after[()])
    alone, in_context, count = 0.0, 0.0, 0
    for words in unseen:
        said: Counter[str] = Counter()
        for first, second, third in zip(["", "", *words], ["", *words], words, strict=False):
            share = floor
            for context in ((), (second,), (first, second)):
                if context in totals:
                    kinds, total = len(after[context]), totals[context]
                    share = (after[context][third] + kinds * share) / (total + kinds)
                if not context:
                    alone -= np.log2(share)
            in_context -= np.log2(0.85 * share + 0.15 * said[third] / max(said.total(), 1))
            said[third] += 1
            count += 1
    return alone / count, in_context / count


def main() -> None:
    """Print all tables and write them beside this file."""
    parts = [[f"synthetic text, {date.today()}"], speed(), relatedness(), structure()]
    text = "\n\n".join("\n".join(part) for part in parts) + "\n"
    print(text, end="")
    Path(__file__).with_suffix(".txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
