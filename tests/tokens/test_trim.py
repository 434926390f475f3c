"""A trimmed tokenizer writes the text it was trimmed for in the same tokens, and any other text."""

from collections.abc import Callable

import pytest
from tokenizers import processors
from tokenizers.processors import PostProcessor

from tests.tokens.bases import gpt, llama, unigram
from tongues.errors import UserError
from tongues.tokens.trim import trim_tokenizer

BROAD = ["the cat sat on the mat", "der Hund und die Katze", "the dogs and cats of the house"] * 9
KEPT = ["the cats sat on the house", "dogs and cats <|endoftext|> </s>"]


@pytest.mark.parametrize("kind", ["gpt", "llama"])
def test_text_keeps_its_tokens_and_ids_close_up(kind: str) -> None:
    base = gpt(BROAD, 330) if kind == "gpt" else llama(BROAD, 330)
    trimmed = trim_tokenizer(base, KEPT)
    size = trimmed.get_vocab_size()
    assert size < base.get_vocab_size()
    assert sorted(trimmed.get_vocab().values()) == list(range(size))
    for text in (*KEPT, "the mat", "a house of cats"):
        assert trimmed.decode(trimmed.encode(text, add_special_tokens=False).ids) == text
    for text in KEPT:
        old, new = (t.encode(text, add_special_tokens=False).tokens for t in (base, trimmed))
        assert old == new
    assert trimmed.token_to_id("Hund") is trimmed.token_to_id("▁Hund") is None
    special = {x.content: n for n, x in trimmed.get_added_tokens_decoder().items()}
    assert special.keys() == {x.content for x in base.get_added_tokens_decoder().values()}
    assert all(trimmed.token_to_id(token) == number for token, number in special.items())


END, START = "<|endoftext|>", "<|im_start|>"


def template(end: tuple[str, int], start: tuple[str, int]) -> PostProcessor:
    single = f"{START} $A {END}"
    return processors.TemplateProcessing(single=single, special_tokens=[end, start])


def in_sequence(end: tuple[str, int], start: tuple[str, int]) -> PostProcessor:
    """As Llama 3 has it."""
    return processors.Sequence([processors.ByteLevel(), template(end, start)])


@pytest.mark.parametrize(
    "kind", [processors.BertProcessing, processors.RobertaProcessing, template, in_sequence]
)
def test_what_surrounds_a_text_gets_its_new_id(kind: Callable[..., PostProcessor]) -> None:
    base = gpt(BROAD, 330)
    end = base.get_vocab()[END]
    base.post_processor = kind((END, end), (START, base.get_vocab()[START]))
    trimmed = trim_tokenizer(base, KEPT)
    ids = trimmed.encode("the cats").ids
    assert [ids[0], ids[-1]] == [trimmed.token_to_id(name) for name in (START, END)]
    assert max(ids) < trimmed.get_vocab_size() < end


def test_only_byte_pair_encoding_is_trimmed() -> None:
    with pytest.raises(UserError, match="Unigram"):
        trim_tokenizer(unigram(BROAD, 60), KEPT)
