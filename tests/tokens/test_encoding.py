"""Texts become one array, each in its frame, with the tokens that the tokenizer gives the whole."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers

from tests.tokens.bases import gpt, llama, unigram
from tongues.tokens import encoding
from tongues.tokens.encoding import PATTERNS, Encoder, apart_at_spaces
from tongues.tokens.frame import TextFrame
from tongues.tokens.tokenizer import train_tokenizer

SAMPLE = ["The quick brown fox: 3 dogs, it's  here!\n\n Über den Zaun im Jahr 1984 , …"] * 20
SPACES = (" ", " ", " ", "  ", "\n", "\t", "\r\n", "\xa0", "\x1c", "\u3000", "\u200d")
WORDS = ("'s", "fox", "The", "12", "3", ",", "...", "é", "e\u0301", "\u0301", "ü", "大", "है", "😀")
PIECES = st.sampled_from((*SPACES, *WORDS, "<|endoftext|>"))
TEXTS = st.lists(st.one_of(st.lists(PIECES).map("".join), st.text(max_size=20)), max_size=4)


def with_words(*steps: pre_tokenizers.PreTokenizer) -> Tokenizer:
    tokenizer = gpt(SAMPLE, 300)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(list(steps))
    return tokenizer


def split(pattern: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Split(Regex(pattern), behavior="isolated")


def bytes_of(words: bool) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=words)


def with_token(content: str, special: bool) -> Tokenizer:
    tokenizer = gpt(SAMPLE, 300)
    tokenizer.add_tokens([AddedToken(content, special=special, normalized=False)])
    return tokenizer


def with_nfc() -> Tokenizer:
    tokenizer = gpt(SAMPLE, 300)
    tokenizer.normalizer = normalizers.NFC()
    return tokenizer


APART: dict[str, Callable[[], Tokenizer]] = {
    "gpt-2": lambda: gpt(SAMPLE, 300),
    "here": lambda: train_tokenizer({"de": SAMPLE}, {"de": 9000}, 320),
    "llama 3": lambda: with_words(split(PATTERNS[1]), bytes_of(False)),
    "qwen 2": lambda: with_words(split(PATTERNS[2]), bytes_of(False)),
    "smollm 2": lambda: with_words(pre_tokenizers.Digits(True), bytes_of(True)),
    "nfc": with_nfc,
    "special": lambda: with_token("b a", special=True),
}
WHOLE: dict[str, Callable[[], Tokenizer]] = {
    "llama 2": lambda: llama(SAMPLE, 400),
    "xglm": lambda: unigram(SAMPLE, 100),
    "words with spaces": lambda: with_words(split(r"\w+ \w+|\s+|."), bytes_of(False)),
    "no words": lambda: with_words(bytes_of(False)),
    "added": lambda: with_token("x f", special=False),
}


@pytest.mark.parametrize("kind", [*APART, *WHOLE])
def test_texts_have_the_tokens_of_the_tokenizer(kind: str) -> None:
    tokenizer = (APART | WHOLE)[kind]()
    assert apart_at_spaces(tokenizer) == (kind in APART)
    encode = Encoder(tokenizer, TextFrame(298, 299), np.dtype("<u2"))

    @given(texts=TEXTS)
    @settings(deadline=None, max_examples=60)
    def check(texts: list[str]) -> None:
        tokens, lengths = encode(texts)
        assert tokens.dtype == np.dtype("<u2") and lengths.dtype == np.int64
        assert len(lengths) == len(texts) and lengths.sum() == len(tokens)
        for text, stop, length in zip(texts, np.cumsum(lengths), lengths, strict=True):
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            assert tokens[stop - length : stop].tolist() == [298, *ids, 299]

    check()


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_KEPT", 10_000)
    tokenizer = gpt(SAMPLE, 300)
    encode = Encoder(tokenizer, TextFrame(None, 299), np.dtype("<u2"))
    tracemalloc.start()
    for first in range(0, 20_000, 500):
        text = " ".join(f"word{number}" for number in range(first, first + 500))
        tokens, _ = encode([text])
        assert tokenizer.decode(tokens[:-1].tolist()) == text
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 1_000_000  # of 20,000 stretches, about 4 MB
