"""Loss right after new embeddings, and some steps later, by the three ways of making them.

usage: python benchmarks/surgery.py TEXT [STEPS]

TEXT is a folder of `<source>/<language>.jsonl.gz`. A small model learns English with a tokenizer
trained on English; the tokenizer is extended for Swahili (the same script) or Greek (a new one),
the model gets rows for the new pieces, and learns the new language with a fifth of English
replayed. Told are bits per byte of held-out text, of the new language and of English, and beside
them what the parent reaches with its own tokenizer, which spells the language in more tokens.
"""

import copy
import gzip
import json
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

from tongues.models import find_shape
from tongues.models.embeddings import WAYS, embed, new_pieces
from tongues.models.huggingface import build_model
from tongues.randomness import derive_seed
from tongues.tokens import END_ID, Mixture
from tongues.tokens.encode import encode
from tongues.tokens.extend import extend_tokenizer
from tongues.tokens.pieces import token_bytes
from tongues.tokens.tokenizer import train_tokenizer
from tongues.train.processor import Processor, attention_for, autocast, set_up
from tongues.train.schedule import rate_at
from tongues.train.validation import held_out, validate

SOURCES = {"en": ("bible", "mdn"), "sw": ("bible", "freecodecamp"), "el": ("ms_beginners",)}
SHAPE, VOCABULARY, PIECES = "0.6M", 2048, 1024
BATCH, CONTEXT, RATE, REPLAY = 32, 64, 3e-3, 0.2  # samples, tokens
PARENT_STEPS, MOST_BYTES, HELD_OUT = 1500, 4_000_000, 60_000  # bytes of text, tokens held out


def texts_of(folder: Path, lang: str) -> tuple[list[str], list[str]]:
    """Training and held-out documents: a group is on one side."""
    sides: tuple[list[str], list[str]] = ([], [])
    for source in SOURCES[lang]:
        size = 0
        with gzip.open(folder / source / f"{lang}.jsonl.gz", "rt", encoding="utf-8") as file:
            for document in map(json.loads, file):
                size += len(document["text"].encode())
                if size > MOST_BYTES / len(SOURCES[lang]):
                    break
                sides[derive_seed(1, document["group"]) % 10 == 0].append(document["text"])
    return sides


def tokens_of(tokenizer: Tokenizer, texts: list[str]) -> np.ndarray:
    """Token ids of texts, each closed by the end token."""
    return encode(tokenizer, texts, END_ID, np.dtype(np.uint16))[0]


def learn(
    model: PreTrainedModel, mixture: Mixture, steps: int, processor: Processor
) -> Iterator[int]:
    """Train, and hand out the number of each step done."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), fused=True)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, steps, RATE, 0.05, 0.1)
        batch = torch.from_numpy(mixture.batch(step, BATCH)).to(processor.device)
        with autocast(processor):
            logits = model(input_ids=batch[:, :-1]).logits
            loss = cross_entropy(logits.flatten(0, 1).float(), batch[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        yield step + 1


def bits_per_byte(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    texts: dict[str, list[str]],
    processor: Processor,
) -> dict[str, float]:
    """The loss of each language's held-out text."""
    windows = {
        lang: held_out(tokens_of(tokenizer, some)[:HELD_OUT], token_bytes(tokenizer), CONTEXT)
        for lang, some in texts.items()
    }
    found = validate(model, windows, processor)
    return {lang: loss.bits_per_byte for lang, loss in found.items()}


def main(folder: Path, steps: int) -> None:
    """Print a table for each new language."""
    processor = set_up("auto", threads=1)
    english, kept = texts_of(folder, "en")
    parent_tokenizer = train_tokenizer({"en": english}, {"en": MOST_BYTES}, VOCABULARY)
    parent = build_model(find_shape(SHAPE), VOCABULARY, CONTEXT, seed=1)
    parent.set_attn_implementation(attention_for(processor))
    mixture = Mixture({"en": tokens_of(parent_tokenizer, english)}, {"en": 1.0}, CONTEXT, seed=1)
    for _ in learn(parent, mixture, PARENT_STEPS, processor):
        pass
    shown = sorted({0, steps // 10, steps // 3, steps})
    for lang in ("sw", "el"):
        train, valid = texts_of(folder, lang)
        tokenizer = extend_tokenizer(parent_tokenizer, {lang: train}, english, PIECES).tokenizer
        pieces = new_pieces(parent_tokenizer, tokenizer)
        assert pieces is not None
        sources = {"en": tokens_of(tokenizer, english), lang: tokens_of(tokenizer, train)}
        mixture = Mixture(sources, {lang: 1 - REPLAY, "en": REPLAY}, CONTEXT, seed=2)
        sides = {lang: valid, "en": kept}
        before = bits_per_byte(parent, parent_tokenizer, sides, processor)
        print(f"\nen -> {lang}, {len(pieces.parts)} new pieces; bits per byte of {lang} (en)")
        print(f"  parent with its own tokenizer {before[lang]:14.3f} ({before['en']:.3f})")
        print("  way      seconds" + "".join(f"{f'step {step}':>17}" for step in shown))
        for way in WAYS:
            model, start = copy.deepcopy(parent), time.perf_counter()
            embed(model, pieces, way, list(sources.values()), seed=1)
            seconds = time.perf_counter() - start
            losses = [
                bits_per_byte(model, tokenizer, sides, processor)
                for step in chain([0], learn(model, mixture, steps, processor))
                if step in shown
            ]
            row = "".join(f"{loss[lang]:9.3f} ({loss['en']:.3f})" for loss in losses)
            print(f"  {way:8} {seconds:7.2f}{row}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 300)
