from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongues.text.signals.near import BANDS, SHINGLE, SIGNATURE, near_signals
from tongues.text.signals.units import units

ALPHABETS = {
    "Latin": "abcdefghijklmnopqrstuvwxyz",
    "Devanagari": "कखगघचछजझटठडढतथदधनपफबभमयरलव",
    "Arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "Han": "".join(map(chr, range(0x4E00, 0x5A00))),
    "Thai": "กขคงจฉชซญดตถทธนบปผพฟภมยรลวสหอ",
}
UNSPACED = ("Han", "Thai")


def written(words: np.ndarray, script: str) -> str:
    """Text of a word for each number."""
    letters = ALPHABETS[script]
    if script in UNSPACED:
        return "".join(letters[word % len(letters)] for word in words)
    spelt = ("".join(letters[word // 26**k % 26] for k in range(4)) for word in words)
    return " ".join(spelt)


def shingles(text: str, script: str) -> set[tuple[str, ...]]:
    """The shingles by another way than the one tested."""
    words = list(text) if script in UNSPACED else text.split(" ")
    return set(zip(words, words[1:], words[2:], strict=False))


def jaccard(one: str, other: str, script: str) -> float:
    a, b = shingles(one, script), shingles(other, script)
    return len(a & b) / len(a | b)


def pair(script: str, size: int, changes: int, seed: int) -> tuple[str, str]:
    """A text, and the same with some words changed."""
    draw = np.random.default_rng(seed)
    words = draw.integers(0, 26**4, size)
    changed = words.copy()
    changed[draw.choice(size, changes, replace=False)] = draw.integers(0, 26**4, changes)
    return written(words, script), written(changed, script)


@pytest.mark.parametrize("script", ALPHABETS)
@pytest.mark.parametrize("size", [12, 60, 800])
def test_equal_parts_of_signatures_estimate_the_similarity(script: str, size: int) -> None:
    pairs = [pair(script, size, 1 + k * size // 200, k) for k in range(60)]
    signature = near_signals(units([text for both in pairs for text in both])).signature
    estimate = (signature[::2] == signature[1::2]).mean(axis=1)
    exact = np.array([jaccard(one, other, script) for one, other in pairs])
    deviation = np.sqrt(exact * (1 - exact) / SIGNATURE) + 1e-9
    standard = (estimate - exact) / deviation
    assert abs(standard.mean()) < 4 / np.sqrt(len(pairs))
    assert standard.std() < 1.3  # no worse than one hash function for each part


@pytest.mark.parametrize("script", ALPHABETS)
def test_98_percent_of_the_pairs_alike_by_four_fifths_share_a_band(script: str) -> None:
    pairs = [pair(script, 270, 10, k) for k in range(150)]
    assert np.mean([jaccard(*both, script) for both in pairs]) == pytest.approx(0.8, abs=0.02)
    bands = near_signals(units([text for both in pairs for text in both])).bands
    assert (bands[::2] == bands[1::2]).any(axis=1).mean() > 0.98


def test_texts_apart_share_no_band() -> None:
    texts = [pair("Latin", 200, 1, k)[0] for k in range(500)]
    bands = near_signals(units(texts)).bands
    assert max(np.unique(column, return_counts=True)[1].max() for column in bands.T) == 1


def test_repetition_is_the_share_of_shingles_said_before() -> None:
    texts = ["a b c d e f", "a b c a b c a b c", "a b", "", "x x x x x x"]
    expected = [0, 4 / 7, 0, 0, 3 / 4]
    assert near_signals(units(texts)).repetition.tolist() == pytest.approx(expected)


def test_short_texts_match_only_equals() -> None:
    texts = ["a b", "b a", "a", "b", "", "...", "A, B!", "a b c", "a b d"]
    signature = near_signals(units(texts)).signature
    same = (signature[:, None] == signature).mean(axis=2) > 0.1
    for i, j in pairwise(range(len(texts))):
        assert not same[i, j]
    assert same.sum() == len(texts) + 2
    assert same[0, 6]


@settings(max_examples=30)
@given(st.lists(st.text("ab .", max_size=40), max_size=6))
def test_a_text_is_signed_the_same_alone_and_among_others(texts: list[str]) -> None:
    together = near_signals(units(texts))
    assert together.signature.shape == (len(texts), SIGNATURE)
    assert together.bands.shape == (len(texts), BANDS)
    for i, text in enumerate(texts):
        alone = near_signals(units([text]))
        assert together.signature[i].tolist() == alone.signature[0].tolist()
        assert together.bands[i].tolist() == alone.bands[0].tolist()
        assert together.repetition[i] == alone.repetition[0]


def test_signatures_never_change() -> None:
    near = near_signals(units(["In the beginning God created the heaven and the earth."]))
    assert SHINGLE == 3
    assert near.signature[0, :4].tolist() == [42604, 39921, 16798, 47036]
    assert near.bands[0, :2].tolist() == [2267386792, 949487289]


def test_repetition_does_not_grow_with_length() -> None:
    """A text of any length repeats what a thousand words of it repeat."""
    rng = np.random.default_rng(5)
    # words as frequent as in real text (Zipf's law): a book repeats more phrases than a page
    weights = 1 / np.arange(1, 100)
    book = [f"w{n}" for n in rng.choice(99, 60_000, p=weights / weights.sum())]
    texts = [" ".join(book[:count]) for count in (1000, 10_000, 60_000)]
    page, chapter, whole = near_signals(units(texts)).repetition.tolist()
    assert page > 0.05
    assert chapter == pytest.approx(page, rel=0.25)
    assert whole == pytest.approx(page, rel=0.25)
    shingles = {tuple(book[i : i + 3]) for i in range(len(book) - 2)}
    assert 1 - len(shingles) / len(book) > 3 * page  # of the book as a whole
    again = near_signals(units([" ".join(book[:30] * 100)])).repetition[0]
    assert again > 0.9
