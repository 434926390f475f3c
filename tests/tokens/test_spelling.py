"""Every id stands for the bytes it spells, whatever kind the tokenizer is of."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from tests.tokens.bases import gpt, llama, parts_of, rebuilt, unigram
from tongues.tokens.spelling import byte_alphabet, token_bytes, token_spellings

TEXTS = ["The quick brown fox jumps over the lazy dog. It was 1984, and it rained."] * 20

GPT, LLAMA, UNIGRAM = gpt(TEXTS, 300), llama(TEXTS, 330), unigram(TEXTS, 60)


def spelt(tokenizer: Tokenizer, text: str) -> bytes:
    pieces = token_spellings(tokenizer)
    return b"".join(pieces[i] for i in tokenizer.encode(text, add_special_tokens=False).ids)


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="▁")))
@settings(deadline=None, max_examples=200)
def test_the_pieces_of_any_text_spell_it(text: str) -> None:
    assert spelt(GPT, text) == text.encode()
    assert spelt(LLAMA, text) == (f" {text}".encode() if text else b"")


@given(text=st.text("The quickbrown foxjmsvlazydg"))
@settings(deadline=None, max_examples=50)
def test_known_letters_of_a_unigram_tokenizer_spell_the_text(text: str) -> None:
    assert spelt(UNIGRAM, text).removeprefix(b" ") == text.encode().removeprefix(b" ")


def test_a_byte_is_one_byte_and_a_special_token_none() -> None:
    pieces, sizes = token_spellings(LLAMA), token_bytes(LLAMA)
    assert pieces[LLAMA.get_vocab()["<0xE2>"]] == b"\xe2"
    assert sizes[LLAMA.token_to_id("▁")] == 1
    assert sizes[:3].tolist() == [0, 0, 0]
    assert token_bytes(GPT)[-2:].tolist() == [0, 0]
    assert token_bytes(UNIGRAM)[UNIGRAM.token_to_id("<unk>")] == 0


def test_added_tokens_that_are_text_count_their_bytes() -> None:
    tokenizer = rebuilt(parts_of(GPT))
    tokenizer.add_tokens(["Wörter"])
    assert spelt(tokenizer, "a Wörter b") == "a Wörter b".encode()
    assert token_bytes(tokenizer)[-1] == 7


def test_gaps_between_ids_are_no_bytes() -> None:
    parts = parts_of(LLAMA)
    parts["model"]["vocab"]["ŧ"] = 400
    sizes = token_bytes(rebuilt(parts))
    assert len(sizes) == 401
    assert sizes[350] == 0 and sizes[400] == 2


@pytest.mark.parametrize("byte", [0x20, 0x41, 0xAD, 0xE2])
def test_the_alphabet_of_bytes_is_the_one_in_use(byte: int) -> None:
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    assert byte_alphabet()[byte] == bytes_to_unicode()[byte]
