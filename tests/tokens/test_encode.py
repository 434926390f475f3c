"""Texts become one array, each closed by the end token."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tokens.bases import gpt
from tongues.tokens.frame import TextFrame
from tongues.tokens.tokenizer import encode

TOKENIZER = gpt(["The quick brown fox jumps over the lazy dog."] * 20, 300)


@given(texts=st.lists(st.text()))
@settings(deadline=None, max_examples=50)
def test_each_text_stands_whole_before_its_end(texts: list[str]) -> None:
    tokens, lengths = encode(TOKENIZER, texts, TextFrame(None, 300), np.dtype("<u2"))
    assert tokens.dtype == np.dtype("<u2") and lengths.dtype == np.int64
    assert len(lengths) == len(texts) and lengths.sum() == len(tokens)
    for text, stop, length in zip(texts, np.cumsum(lengths), lengths, strict=True):
        assert tokens[stop - 1] == 300
        assert TOKENIZER.decode(tokens[stop - length : stop - 1].tolist()) == text
