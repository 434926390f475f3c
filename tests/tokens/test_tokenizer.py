"""The tokenizer: every byte counted, every text spelt back, the same at every training."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from tongues.errors import UserError
from tongues.text import Document
from tongues.tokens import tokenizer as module
from tongues.tokens.tokenizer import (
    END,
    END_ID,
    load_tokenizer,
    sample_text,
    save_tokenizer,
    token_bytes,
    train_tokenizer,
)

SAMPLES = {
    "en": ["The quick brown fox jumps over the lazy dog. ", "It was 1984, and it rained."] * 20,
    "hi": ["हिन्दी विश्व की एक प्रमुख भाषा है। "] * 20,
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(SAMPLES, 400)


@given(text=st.text() | st.text(alphabet=st.characters(categories=["Mn", "Zs", "Nd", "So"])))
@settings(deadline=None, max_examples=300)
def test_any_text_is_spelt_back_and_its_bytes_add_up(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assert token_bytes(tokenizer)[ids].sum() == len(text.encode())
    assert tokenizer.decode(ids, skip_special_tokens=False) == text


def test_text_that_spells_the_end_token_is_text(tokenizer: Tokenizer, tmp_path: Path) -> None:
    save_tokenizer(tokenizer, tmp_path)
    for each in (tokenizer, load_tokenizer(tmp_path / "tokenizer.json")):
        ids = each.encode(f"a{END}b", add_special_tokens=False).ids
        assert END_ID not in ids
        assert token_bytes(each)[ids].sum() == len(f"a{END}b")
        assert each.decode(ids) == f"a{END}b"


def test_the_vocabulary_is_the_bytes_the_end_and_merges(tokenizer: Tokenizer) -> None:
    sizes = token_bytes(tokenizer)
    assert len(sizes) == tokenizer.get_vocab_size() <= 400
    assert sizes[END_ID] == 0
    assert (sizes == 1).sum() == 256
    assert (sizes == 0).sum() == 1


def test_words_keep_their_vowel_signs(tokenizer: Tokenizer) -> None:
    pieces = tokenizer.pre_tokenizer.pre_tokenize_str("यह हिन्दी है 12345")
    assert [start for _, (start, _) in pieces] == [0, 2, 9, 12, 16]


def test_training_is_deterministic() -> None:
    trained = {train_tokenizer(SAMPLES, 400).to_str() for _ in range(5)}
    backwards = dict(reversed(SAMPLES.items()))
    assert trained == {train_tokenizer(backwards, 400).to_str()}


def test_languages_weigh_the_same_whatever_their_size() -> None:
    text = "una parola e poi un'altra, fino alla fine del racconto. "
    few = train_tokenizer({"en": SAMPLES["en"], "it": [text]}, 320)
    many = train_tokenizer({"en": SAMPLES["en"], "it": [text] * 20}, 320)
    assert few.get_vocab() == many.get_vocab()


def test_a_sample_has_its_size_and_is_drawn_from_everywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SAMPLE_BYTES", 1000)
    documents = [Document(str(i), "en", f"{i:04d}" * 5, str(i), "") for i in range(1000)]
    texts = sample_text(documents)
    assert 1000 <= sum(map(len, texts)) < 1020
    assert texts == sample_text(reversed(documents))
    assert 300 < np.mean([int(text[:4]) for text in texts]) < 700
    assert sorted(sample_text(documents[:9])) == [document.text for document in documents[:9]]


def test_hugging_face_loads_it(tokenizer: Tokenizer, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    save_tokenizer(tokenizer, tmp_path)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    text = "The dog has 12 दिन."
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assert theirs(text)["input_ids"] == ids
    assert theirs.decode(ids) == text
    assert theirs.bos_token_id == theirs.eos_token_id == END_ID
    assert len(theirs) == tokenizer.get_vocab_size()


def test_no_tokenizer_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    for content in (None, "{", json.dumps({"model": 1})):
        if content is not None:
            path.write_text(content)
        with pytest.raises(UserError, match="is no tokenizer"):
            load_tokenizer(path)
