"""The terms of a document: what it is compared with others by, and how much each counts."""

import re
import zlib
from collections.abc import Callable
from typing import Literal

import numpy as np
from tokenizers import Tokenizer

from tongues.experts.partition.sparse import Sparse
from tongues.tokens import Tokens, load_tokenizer
from tongues.tokens.shards import Shard

__all__ = ["TERMS", "Terms", "inverse_frequencies", "term_count", "term_reader", "weigh"]

Terms = Literal["pieces", "words", "characters"]

TERMS: dict[Terms, str] = {
    "pieces": "the tokenizer's own pieces: right in every script, and known while text is written",
    "words": "two letters or more in a row, as in the original: fails where words are not spaced",
    "characters": "three characters in a row",
}

_HASHED = 2**16  # numbers that words and characters share
_WORD = re.compile(r"\b\w\w+\b")
_MIXERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)


def term_count(kind: Terms, vocabulary_size: int) -> int:
    """How many terms there are to tell apart."""
    return vocabulary_size if kind == "pieces" else _HASHED


def term_reader(kind: Terms, tokens: Tokens) -> Callable[[Shard], Shard]:
    """What turns documents of tokens into documents of term numbers."""
    if kind == "pieces":
        return lambda documents: documents
    tokenizer = load_tokenizer(tokens.tokenizer_path)
    numbers = _words if kind == "words" else _characters
    return lambda documents: _read(documents, tokenizer, numbers)


def inverse_frequencies(counts: Sparse, end_id: int | None) -> np.ndarray:
    """What each term counts: more, the fewer documents it occurs in; nothing for `end_id`."""
    documents = len(counts.starts) - 1
    found = np.bincount(counts.columns, minlength=counts.width)
    weights = np.log((1 + documents) / (1 + found)) + 1
    if end_id is not None:
        weights[end_id] = 0
    return weights.astype(np.float32)


def weigh(counts: Sparse, weights: np.ndarray) -> Sparse:
    """Counts times the terms' weights, every row of length 1."""
    values = counts.values * weights[counts.columns]
    rows = counts.rows
    lengths = np.sqrt(np.bincount(rows, values.astype(np.float64) ** 2, len(counts.starts) - 1))
    values = (values / np.maximum(lengths, 1e-30)[rows]).astype(np.float32)
    return Sparse(counts.starts, counts.columns, values, counts.width)


def _read(documents: Shard, tokenizer: Tokenizer, numbers: Callable[[str], np.ndarray]) -> Shard:
    pairs = zip(documents.bounds[:-1].tolist(), documents.bounds[1:].tolist(), strict=True)
    texts = (tokenizer.decode(documents.tokens[start:end].tolist()) for start, end in pairs)
    found = [numbers(text.lower()) for text in texts]
    bounds = np.cumsum([0, *map(len, found)])
    return Shard(np.concatenate([np.empty(0, np.int64), *found]), bounds)


def _words(text: str) -> np.ndarray:
    hashes = [zlib.crc32(word.encode()) % _HASHED for word in _WORD.findall(text)]
    return np.array(hashes, np.int64)


def _characters(text: str) -> np.ndarray:
    letters = np.frombuffer(f" {text} ".encode("utf-32-le"), "<u4").astype(np.uint64)
    threes = np.lib.stride_tricks.sliding_window_view(letters, min(3, len(letters)))
    mixed = (threes * _MIXERS[: threes.shape[1]]).sum(axis=1, dtype=np.uint64)
    return ((mixed ^ (mixed >> np.uint64(29))) * _MIXERS[0] >> np.uint64(48)).astype(np.int64)
