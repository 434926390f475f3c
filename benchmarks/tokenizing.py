"""How fast texts become one array of ids, beside what `tokenizers` itself takes for them.

usage: python benchmarks/tokenizing.py

Claim: at least 0.9 of the speed of `encode_batch_fast`, which alone leaves the ids in its own
objects; ours are one array with the end of every text in it. Both get the same batches of about
1 MB in turns, on one thread. It takes about half a minute. The result also goes to
`tokenizing.txt`.
"""

import os

os.environ |= {"TOKENIZERS_PARALLELISM": "false"}

import gzip
import json
import statistics
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import numpy as np

from tongues.tokens.encoding import Encoder
from tongues.tokens.frame import TextFrame
from tongues.tokens.tokenizer import END_ID, train_tokenizer

__all__ = ["main"]

TEXT = Path(__file__).parents[1] / "../shared/data/text/mdn"
LANGUAGES = ("en", "ru", "zh")
VOCABULARY = 16_000
BATCH = 1_000_000  # bytes
SIZE = 3_000_000  # of a language
TURNS = 5


def read(lang: str) -> list[str]:
    """Some of the shared documents of a language."""
    lines = gzip.decompress((TEXT / f"{lang}.jsonl.gz").read_bytes()).splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    up_to = np.cumsum([len(text.encode()) for text in texts])
    return texts[: int(np.searchsorted(up_to, SIZE))]


def batches(texts: list[str]) -> Iterator[list[str]]:
    """Texts, some megabytes at a time."""
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text.encode())
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    yield batch


def main() -> None:
    """Time both in turns, in each language."""
    texts = {lang: read(lang) for lang in LANGUAGES}
    sizes = {lang: sum(len(text.encode()) for text in some) for lang, some in texts.items()}
    tokenizer = train_tokenizer(texts, dict.fromkeys(LANGUAGES, min(sizes.values())), VOCABULARY)
    lines = [
        f"{date.today()}  tokenizers {version('tokenizers')}, one thread, {VOCABULARY:,} pieces; "
        f"medians [least, most] of {TURNS} turns"
    ]
    for lang, some in texts.items():
        theirs, ours = [], []
        tokens = 0
        for _ in range(TURNS):
            start = perf_counter()
            for batch in batches(some):
                tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            theirs.append(perf_counter() - start)
            start = perf_counter()
            encode = Encoder(tokenizer, TextFrame(END_ID, END_ID), np.dtype("<u2"))
            arrays = [encode(b)[0] for b in batches(some)]
            ours.append(perf_counter() - start)
            tokens = sum(map(len, arrays))
        ratios = [a / b for a, b in zip(theirs, ours, strict=True)]
        lines.append(
            f"{lang}  {sizes[lang] / 1e6:.1f} MB, {tokens:,} tokens  "
            f"tokenizers {sizes[lang] / 1e6 / statistics.median(theirs):5.2f} MB/s  "
            f"ours {sizes[lang] / 1e6 / statistics.median(ours):5.2f} MB/s  "
            f"{statistics.median(ratios):.3f} of its speed [{min(ratios):.3f}, {max(ratios):.3f}]"
        )
    text = "\n".join(lines)
    print(text)
    Path(__file__).with_suffix(".txt").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
