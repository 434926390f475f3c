"""N-gram entropies of texts whose entropy is known."""

import math

import numpy as np
import pytest

from tongues.core.errors import UserError
from tongues.languages import measure_ngrams


def _text(words: list[str], between: str = " ", count: int = 60_000, seed: int = 0) -> str:
    random = np.random.default_rng(seed)
    return between.join(np.array(words)[random.integers(0, len(words), count)])


def test_words_drawn_alike_have_the_entropy_of_the_draw() -> None:
    words = [f"{a}{b}aa" for a in "bcdfghjk" for b in "bcdfghjk"]  # 64 of 4 letters
    grams = measure_ngrams(_text(words))
    # a unit of text is a word or a space, half of each
    assert grams.unigram == pytest.approx((math.log2(64) / 2 + 1) * 2 / 5, rel=0.01)
    assert grams.bigram == pytest.approx(math.log2(64) / 5, rel=0.03)


def test_a_script_without_spaces_is_read_by_character() -> None:
    grams = measure_ngrams(_text([chr(0x4E00 + i) for i in range(256)], "", 200_000))
    assert grams.unigram == pytest.approx(8 / 3, rel=0.01)


def test_bigrams_find_what_follows() -> None:
    order = list("abcdefghijkl")
    random = np.random.default_rng(1)
    start = random.integers(0, len(order), 20_000)
    text = ". ".join(" ".join(order[s:] + order[:s]) for s in start)
    grams = measure_ngrams(text)
    assert grams.bigram < 0.75 * grams.unigram


def test_trigrams_find_what_only_two_units_tell() -> None:
    random, last = np.random.default_rng(3), [0, 1]
    for noise in random.integers(0, 64, 150_000).tolist():
        last.append(noise % 16 if noise < 16 else (last[-1] + last[-2]) % 16)
    grams = measure_ngrams("".join(chr(0x4E00 + unit) for unit in last))
    kept, other = 0.75 + 0.25 / 16, 0.25 / 16
    entropy = -kept * math.log2(kept) - 15 * other * math.log2(other)
    assert grams.unigram == pytest.approx(4 / 3, rel=0.01)
    assert grams.bigram == pytest.approx(4 / 3, rel=0.01)
    assert grams.trigram == pytest.approx(entropy / 3, rel=0.02)


def test_words_not_seen_are_spelled() -> None:
    random = np.random.default_rng(2)
    letters = random.integers(0, 26, (40_000, 8))
    text = " ".join("".join(chr(97 + i) for i in row) for row in letters)
    bits = measure_ngrams(text).unigram * 9
    assert 8 * math.log2(26) < bits < 1.25 * (8 * math.log2(26) + 2)  # only letters to learn


def test_too_little_text_is_refused() -> None:
    with pytest.raises(UserError, match="too little"):
        measure_ngrams("kitabu " * 1000)


def test_pairs_not_seen_fall_back_to_single_units() -> None:
    grams = measure_ngrams(_text([chr(0x4E00 + i) for i in range(3000)], "", 100_000))
    assert grams.bigram < 1.1 * grams.unigram
