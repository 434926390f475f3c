"""Counts of what a tokenizer makes of a language, and advice that follows from them."""

import pytest
from tokenizers import AddedToken, Tokenizer

from tests.text.real import needs_text, texts
from tests.tokens.bases import gpt, unigram
from tongues.text.tokens.fertility import BYTEWISE, changed_share, measure, try_extensions

ENGLISH = [("1", "the cat sat on the mat"), ("2", "the dog sat"), ("3", "the end")] * 3
GREEK = [("1", "η γάτα κάθισε στο χαλί"), ("2", "ο σκύλος κάθισε"), ("x", "τέλος")] * 3


def test_every_byte_character_word_and_token_is_counted() -> None:
    tokenizer = gpt([text for _, text in ENGLISH], 280)
    measured = measure(tokenizer, {"en": ENGLISH, "el": GREEK, "qaa": []})
    english, greek, none = measured["en"], measured["el"], measured["qaa"]
    assert english.bytes == english.characters == 3 * (22 + 11 + 7)
    assert english.words == 3 * (6 + 3 + 2)
    tokens = [len(tokenizer.encode(text).ids) for _, text in ENGLISH]
    assert english.tokens == sum(tokens)
    assert english.tokens_per_word == sum(tokens) / 33
    assert english.unknown == 0 and not english.spelt_out
    assert greek.bytes > greek.characters == 3 * (22 + 15 + 5)
    assert greek.spelt_out
    assert greek.bytes_per_token == pytest.approx(1, abs=0.05) and BYTEWISE > 1.05
    assert (none.tokens, none.bytes, none.multiplier) == (0, 0, None)


def test_the_multiplier_compares_groups_in_both_languages() -> None:
    tokenizer = gpt([text for _, text in ENGLISH], 280)
    measured = measure(tokenizer, {"en": ENGLISH, "el": GREEK})
    lengths = {text: len(tokenizer.encode(text).ids) for _, text in ENGLISH + GREEK}
    pairs = [(ENGLISH[i][1], GREEK[i][1]) for i in range(2)]
    first, second = (lengths[greek] / lengths[english] for english, greek in pairs)
    assert measured["en"].multiplier == 1
    assert measured["el"].multiplier == pytest.approx((first + second) / 2)
    assert measure(tokenizer, {"el": GREEK})["el"].multiplier is None
    assert measure(tokenizer, {"en": ENGLISH, "el": GREEK[2:3]})["el"].multiplier is None


def test_unknown_text_is_counted() -> None:
    measured = measure(unigram([text for _, text in ENGLISH], 40), {"en": ENGLISH, "el": GREEK})
    assert measured["en"].unknown == 0
    assert measured["el"].unknown >= 3 * 3


@needs_text
def test_a_language_that_is_spelt_gains_by_new_tokens_and_a_learned_one_not() -> None:
    english = texts("bible", "en", 60)
    tokenizer = gpt(english, 2000)
    greek = try_extensions(tokenizer, texts("ms_beginners", "el", 30), english)
    assert greek is not None
    sizes, ratios = list(greek), list(greek.values())
    assert sizes[:2] == [0, 500] and greek[0] < 0.5 * greek[sizes[-1]]
    assert ratios == sorted(ratios)
    known = try_extensions(tokenizer, english, english)
    assert known is not None and set(known) == {0}


def test_a_unigram_tokenizer_is_not_extended() -> None:
    assert try_extensions(unigram(["the cat sat on the mat"], 30), ["η γάτα"] * 9, []) is None


def test_the_changed_share_counts_tokens_that_are_others_now() -> None:
    before = gpt(["abab cdcd"] * 9, 261)
    added = Tokenizer.from_str(before.to_str())
    added.add_tokens([AddedToken(" cdcd", normalized=False)])
    text = "abab cdcd"
    count = len(before.encode(text, add_special_tokens=False).ids)
    kept = len(before.encode("abab", add_special_tokens=False).ids)
    assert changed_share(before, added, [text] * 300) == pytest.approx(1 - kept / count)
    assert changed_share(before, before, [text]) == 0
