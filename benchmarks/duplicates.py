"""How fast near duplicates are signed and how surely they are found, beside datatrove's MinHash.

usage: python benchmarks/duplicates.py > benchmarks/duplicates.txt

Claim: 7 MB/s a core, and 98 % of what was planted at a similarity of 0.8. Both sides get the same
shingles, three words (characters in Chinese), and the same time of the machine in turns. The other
is optional to the project: `pip install datatrove==0.10.1 'xxhash<4' regex`. It gets plain runs of
word characters, quicker than its own word tokenizers (0.4 to 0.7 MB/s instead of 3.4 to 3.9 on
21 November 2026). Reads the shared text beside the project.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

import gzip
import json
import statistics
import tempfile
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Literal, cast

import numpy as np
import regex
from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupSignature
from datatrove.utils.hashing import HashConfig
from datatrove.utils.word_tokenizers import WordTokenizer

from tongues.text.signals.near import clusters, near_signals
from tongues.text.signals.units import units

__all__ = ["main"]

TEXT = Path(__file__).parents[1] / "../shared/data/text"
LANGUAGES = ("en", "sw", "zh")
SIZE = 3_000_000  # bytes of a language
TURNS = 3
PAIRS = 400
WORDS = 300  # of a planted document
NEAR = 0.7  # linked from this similarity


class PlainWords(WordTokenizer):
    """Runs of word characters, single ones of Chinese."""

    word = regex.compile(r"\p{Han}|[\p{L}\p{M}\p{N}--\p{Han}]+", regex.V1)

    def word_tokenize(self, text: str) -> list[str]:
        """The words of a text."""
        return self.word.findall(text)

    def sent_tokenize(self, text: str) -> list[str]:
        """Not asked for."""
        raise NotImplementedError

    def span_tokenize(self, text: str) -> list[tuple[int, int]]:
        """Not asked for."""
        raise NotImplementedError


Peer = Callable[[list[str]], list[list[list[int]]]]


def read(lang: str) -> list[str]:
    """About SIZE bytes of documents of a language, from all its sources."""
    texts: list[str] = []
    for path in sorted(TEXT.glob(f"*/{lang}.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["text"] for line in lines]
    order = np.random.default_rng(1).permutation(len(texts))
    sizes = np.cumsum([len(texts[i].encode()) for i in order])
    return [texts[i] for i in order[: np.searchsorted(sizes, SIZE, side="right")]]


def hash_in_reach() -> Literal["sha1", "xxhash"]:
    """The quicker hash of datatrove, unless xxhash is 4, which takes no strings."""
    return "xxhash" if version("xxhash").startswith("3.") else "sha1"


def peer() -> Peer:
    """The keys of the buckets of each text, by datatrove; none of a text without words."""
    config = MinhashConfig(n_grams=3, hash_config=HashConfig(hash_fc=hash_in_reach()))
    with tempfile.TemporaryDirectory() as folder:
        # it takes a tokenizer too, though annotated as the name of a language alone
        step = MinhashDedupSignature(folder, config, language=cast("str", PlainWords()))

    def sign(texts: list[str]) -> list[list[list[int]]]:
        shingles = (step.get_shingles(text) for text in texts)
        return [step.get_signature(found) if found.size else [] for found in shingles]

    return sign


def speed(lang: str, texts: list[str]) -> None:
    """MB/s of each way in turns."""
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    ways: dict[str, Callable[[list[str]], object]] = {
        "ours": lambda texts: near_signals(units(texts)),
        "datatrove, plain words": peer(),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for name in [*ways] * TURNS:
        start = perf_counter()
        ways[name](texts)
        seconds[name].append(perf_counter() - start)
    for name, spent in seconds.items():
        ratios = [a / b for a, b in zip(spent, seconds["ours"], strict=True)]
        rate, ratio = megabytes / statistics.median(spent), statistics.median(ratios)
        print(
            f"{lang}  {megabytes:.1f} MB  {name:<24}{rate:8.2f} MB/s  "
            f"{ratio:6.1f} times ours [{min(ratios):.1f}, {max(ratios):.1f}]"
        )


def planted(words: list[list[str]], joint: str, similarity: float) -> tuple[list[str], list[float]]:
    """Documents and changed copies of them in turns, and the exact similarity of each pair."""
    draw = np.random.default_rng(7)
    strangers = [word for text in words[:PAIRS] for word in text]
    texts: list[str] = []
    exact: list[float] = []
    for original in words[-PAIRS:]:
        copy, alike = list(original), 1.0
        for place in draw.permutation(len(copy)):
            if alike <= similarity:
                break
            copy[place] = strangers[draw.integers(len(strangers))]
            alike = jaccard(original, copy)
        texts += [joint.join(original), joint.join(copy)]
        exact.append(alike)
    return texts, exact


def jaccard(one: list[str], other: list[str]) -> float:
    """The exact similarity of two texts."""
    a, b = (set(zip(words, words[1:], words[2:], strict=False)) for words in (one, other))
    return len(a & b) / len(a | b)


def surety(lang: str, texts: list[str]) -> None:
    """The share of planted pairs that each way links, at several similarities."""
    joint = "" if lang == "zh" else " "
    cut = (PlainWords().word_tokenize(text.lower()) for text in texts)
    words = [found[:WORDS] for found in cut if len(found) >= WORDS]
    theirs = peer()
    for similarity in (0.9, 0.8, 0.7, 0.6, 0.5):
        pairs, exact = planted(words, joint, similarity)
        near = near_signals(units(pairs))
        label = clusters(len(pairs), near.bands.T.__getitem__, near.signature.__getitem__, [NEAR])
        ours = label[0][::2] == label[0][1::2]
        keys = theirs(pairs)
        linked = [any(map(list.__eq__, a, b)) for a, b in zip(keys[::2], keys[1::2], strict=True)]
        print(
            f"{lang}  {len(exact)} pairs at {statistics.mean(exact):.3f}  "
            f"linked by ours {np.mean(ours):7.2%}  by datatrove {np.mean(linked):7.2%}"
        )


def main() -> None:
    """Measure, print and write."""
    print(f"{date.today()}  numpy {np.__version__}, one thread; medians [least, most] of {TURNS}")
    print(f"datatrove {version('datatrove')} with {hash_in_reach()}")
    print()
    print("signatures, from text in memory; times taken:")
    corpora = {lang: read(lang) for lang in LANGUAGES}
    for lang, texts in corpora.items():
        speed(lang, texts)
    print()
    print(
        f"planted pairs of {WORDS} words; ours links from an estimate of {NEAR}, datatrove from a"
    )
    print("bucket shared (14 of 8 hashes, its defaults):")
    for lang, texts in corpora.items():
        surety(lang, texts)


if __name__ == "__main__":
    main()
