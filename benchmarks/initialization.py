"""Held-out loss of a model with new tokens, by the initialization of their embeddings.

usage: python benchmarks/initialization.py TEXT [STEPS]

TEXT is a folder of `<source>/<language>.jsonl.gz`. A small base model is trained on English with an
English tokenizer. The tokenizer is extended for Swahili (the same script) or Greek (a new script),
embeddings of the new tokens are initialized, and the model is trained on the new language with 20 %
English replay. The table has bits per byte of held-out text of the new language (and of English)
after some steps; its first row is the base with its own tokenizer. In a row with a percentage, only
embeddings were trained in that share of the steps.
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
from transformers import PreTrainedModel

from tongues.models import find_shape
from tongues.models.anatomy import embedding_matrices
from tongues.models.embeddings import EMBEDDING_METHODS, NewTokens
from tongues.models.huggingface import build_model
from tongues.models.token_map import map_tokens, resize_vocabulary
from tongues.randomness import derive_seed
from tongues.recipe import Train
from tongues.tokens import END_ID, Mixture
from tongues.tokens.encoding import Encoder
from tongues.tokens.extend import extend_tokenizer
from tongues.tokens.frame import TextFrame
from tongues.tokens.spelling import token_bytes
from tongues.tokens.tokenizer import train_tokenizer
from tongues.train.engine.fitting import fit_scorer
from tongues.train.engine.optimizer import make_optimizer, set_rate
from tongues.train.engine.processes import Processes
from tongues.train.engine.processor import Processor, set_up
from tongues.train.engine.scorer import Scorer
from tongues.train.schedule import embeddings_alone, rate_at
from tongues.train.step import cut_windows, validate

SOURCES = {"en": ("bible", "mdn"), "sw": ("bible", "freecodecamp"), "el": ("ms_beginners",)}
SHAPE, VOCABULARY, NEW_TOKENS = "0.6M", 2048, 1024
BATCH, CONTEXT, RATE, REPLAY = 32, 64, 3e-3, 0.2  # samples, tokens
FIRST: tuple[tuple[str, float], ...] = (
    *((method.name, 0.0) for method in EMBEDDING_METHODS.values() if not method.distilled),
    *((way, share) for way in ("similar", "random") for share in (0.1, 0.3)),
)
BASE_STEPS, MOST_BYTES, HELD_OUT = 1500, 4_000_000, 60_000  # bytes of text, tokens held out


def texts_of(folder: Path, lang: str) -> tuple[list[str], list[str]]:
    """Training and held-out documents; all of a group are in one of them."""
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
    return Encoder(tokenizer, TextFrame(END_ID, END_ID), np.dtype(np.uint16))(texts)[0]


def learn(scorer: Scorer, mixture: Mixture, steps: int, alone: float = 0.0) -> Iterator[int]:
    """Train, with embeddings alone in the first share `alone`; yields the number of each step."""
    settings = Train.model_validate({"budget": "1 token", "embedding_warmup": alone})
    optimizer = make_optimizer(scorer.model, settings, RATE)
    for step in range(steps):
        rate = rate_at(step, steps, RATE, settings)
        set_rate(optimizer, rate, embeddings_alone=embeddings_alone(step, steps, settings))
        objective, _ = scorer(torch.from_numpy(mixture.batch(step)))
        (objective / (BATCH * CONTEXT)).backward()
        torch.nn.utils.clip_grad_norm_(scorer.parameters(), settings.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        yield step + 1


def scored(model: PreTrainedModel, processor: Processor) -> Scorer:
    """The model with its loss."""
    settings = {"frame": TextFrame(END_ID, END_ID), "recompute": False, "compiled": False}
    return fit_scorer(model, processor, context=CONTEXT, tell=print, **settings)[0]


def bits_per_byte(
    scorer: Scorer, tokenizer: Tokenizer, texts: dict[str, list[str]]
) -> dict[str, float]:
    """The loss of each language's held-out text."""
    windows = {
        lang: cut_windows(tokens_of(tokenizer, some)[:HELD_OUT], token_bytes(tokenizer), CONTEXT)
        for lang, some in texts.items()
    }
    losses = validate(scorer, windows, Processes())
    return {lang: loss.bits_per_byte for lang, loss in losses.items()}


def main(folder: Path, steps: int) -> None:
    """Print a table for each new language."""
    processor = set_up("auto", threads=1)
    english, kept = texts_of(folder, "en")
    base_tokenizer = train_tokenizer({"en": english}, {"en": MOST_BYTES}, VOCABULARY)
    base = build_model(find_shape(SHAPE), VOCABULARY, CONTEXT, seed=1)
    mixture = Mixture({"en": tokens_of(base_tokenizer, english)}, {"en": 1.0}, CONTEXT, 1, BATCH)
    for _ in learn(scored(base, processor), mixture, BASE_STEPS):
        pass
    shown = sorted({0, steps // 10, steps // 3, steps})
    for lang in ("sw", "el"):
        train, valid = texts_of(folder, lang)
        tokenizer = extend_tokenizer(base_tokenizer, {lang: train}, english, NEW_TOKENS).tokenizer
        tokens = map_tokens(base_tokenizer, tokenizer)
        sources = {"en": tokens_of(tokenizer, english), lang: tokens_of(tokenizer, train)}
        mixture = Mixture(sources, {lang: 1 - REPLAY, "en": REPLAY}, CONTEXT, 2, BATCH)
        sides = {lang: valid, "en": kept}
        before = bits_per_byte(scored(base, processor), base_tokenizer, sides)
        print(f"\nen -> {lang}, {len(tokens.missing)} new tokens; bits per byte of {lang} (en)")
        print(f"  base with its own tokenizer   {before[lang]:14.3f} ({before['en']:.3f})")
        print("  initialization seconds" + "".join(f"{f'step {step}':>17}" for step in shown))
        for way, alone in FIRST:
            model, start = copy.deepcopy(base), time.perf_counter()
            new = NewTokens(
                tokens, resize_vocabulary(model, tokens), list(sources.values()), seed=1
            )
            with torch.no_grad():
                rows = zip(
                    embedding_matrices(model), EMBEDDING_METHODS[way].compose(new), strict=True
                )
                for matrix, content in rows:
                    matrix[tokens.missing] = content
            seconds, scorer = time.perf_counter() - start, scored(model, processor)
            losses = [
                bits_per_byte(scorer, tokenizer, sides)
                for step in chain([0], learn(scorer, mixture, steps, alone))
                if step in shown
            ]
            row = "".join(f"{loss[lang]:9.3f} ({loss['en']:.3f})" for loss in losses)
            name = f"{way}, {alone:.0%}" if alone else way
            print(f"  {name:14} {seconds:7.2f}{row}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 300)
