"""Texts to one array of token ids."""

from collections.abc import Sequence

import numpy as np
from tokenizers import Tokenizer

__all__ = ["encode"]


def encode(
    tokenizer: Tokenizer, texts: Sequence[str], end_id: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """The tokens of all texts end to end, each text closed by `end_id`, and how many of each.

    `dtype` must hold every id of the tokenizer; the lengths (int64) count the end tokens.
    """
    if not texts:
        return np.empty(0, dtype=dtype), np.empty(0, dtype=np.int64)
    encodings = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    tokens = [np.array([*encoding.ids, end_id], dtype=dtype) for encoding in encodings]
    return np.concatenate(tokens), np.array([len(ids) for ids in tokens], dtype=np.int64)
