"""The tokenizer: every byte counted, every text spelt back, the same at every training."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from tests.golden import inputs
from tests.tokens.bases import gpt, llama, unigram
from tongues.core.errors import UserError
from tongues.text.tokens.frame import read_frame
from tongues.text.tokens.merges import Segmentation
from tongues.text.tokens.spelling import token_bytes
from tongues.text.tokens.tokenizer import (
    END,
    END_ID,
    load_tokenizer,
    save_tokenizer,
    train_tokenizer,
    vocabulary_size,
)

SAMPLES = {
    "en": ["The quick brown fox jumps over the lazy dog. ", "It was 1984, and it rained."] * 20,
    "hi": ["हिन्दी विश्व की एक प्रमुख भाषा है। "] * 20,
}


EQUAL = {"en": 2000, "hi": 2000}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(SAMPLES, EQUAL, 400)


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
    assert [start for _, (start, _) in pieces] == [0, 2, 9, 12, *range(13, 18)]


def test_training_is_deterministic() -> None:
    trained = {train_tokenizer(SAMPLES, EQUAL, 400).to_str() for _ in range(5)}
    backwards = dict(reversed(SAMPLES.items()))
    assert trained == {train_tokenizer(backwards, EQUAL, 400).to_str()}


def test_a_small_sample_is_repeated() -> None:
    text = "una parola e poi un'altra, fino alla fine del racconto. "
    sizes = {"en": 1000, "it": 1000}
    few = train_tokenizer({"en": SAMPLES["en"], "it": [text]}, sizes, 320)
    many = train_tokenizer({"en": SAMPLES["en"], "it": ["", *[text] * 20]}, sizes, 320)
    assert few.get_vocab() == many.get_vocab()


def test_hugging_face_loads_it(tokenizer: Tokenizer, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    save_tokenizer(tokenizer, tmp_path)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    text = "The dog has 12 दिन."
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assert theirs(text)["input_ids"] == [END_ID, *ids]
    assert theirs.decode(ids) == text
    assert theirs.bos_token_id == theirs.eos_token_id == END_ID
    assert len(theirs) == tokenizer.get_vocab_size()


@pytest.mark.parametrize("make", [gpt, llama, unigram])
def test_any_kind_is_taken_and_keeps_its_settings(make, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    base, taken = tmp_path / "base", tmp_path / "taken"
    tokenizer = make(SAMPLES["en"], 300)
    save_tokenizer(tokenizer, base)
    settings = json.loads((base / "tokenizer_config.json").read_text())
    settings["chat_template"] = "{{ messages }}"
    (base / "tokenizer_config.json").write_text(json.dumps(settings))
    save_tokenizer(load_tokenizer(base), taken, base)
    text = "The dog rained 12 times. "
    ids = load_tokenizer(taken).encode(text, add_special_tokens=False).ids
    assert ids == tokenizer.encode(text, add_special_tokens=False).ids
    theirs = AutoTokenizer.from_pretrained(taken)
    assert theirs(text, add_special_tokens=False)["input_ids"] == ids
    assert theirs.chat_template == "{{ messages }}"
    assert theirs.eos_token_id == read_frame(load_tokenizer(taken), taken).end


def test_nothing_is_cut_or_padded(tmp_path: Path) -> None:
    tokenizer = gpt(SAMPLES["en"], 300)
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=100)
    save_tokenizer(tokenizer, tmp_path)
    count = len(load_tokenizer(tmp_path).encode("The dog, the fox").ids)
    assert 3 < count < 100


@pytest.mark.parametrize(
    ("file", "settings"), inputs("rows")["test_the_end_is_what_the_settings_name"]
)
def test_the_end_is_what_the_settings_name(file: str, settings: dict, tmp_path: Path) -> None:
    tokenizer = gpt(SAMPLES["en"], 300)
    assert read_frame(tokenizer).end == 300
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / file).write_text(json.dumps(settings))
    assert read_frame(tokenizer, tmp_path).end == 301
    assert read_frame(tokenizer, tmp_path / "tokenizer.json").end == 301


BARE = Tokenizer(models.BPE(vocab={"a": 0, "b": 7}, merges=[]))  # of 8 tokens
WORDS = Tokenizer(models.WordPiece(vocab={"[UNK]": 0, "a": 1}))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, r"holds no tokenizer\.json(?s:.*)save_pretrained"),
        ("{", "is not a tokenizer"),
        (json.dumps({"model": 1}), "is not a tokenizer"),
        (WORDS.to_str(), "WordPiece"),
    ],
)
def test_what_is_no_tokenizer_of_every_text_is_refused(
    tmp_path: Path, content: str | None, says: str
) -> None:
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(UserError, match=says):
        load_tokenizer(tmp_path)
    with pytest.raises(UserError, match="no such tokenizer"):
        load_tokenizer(tmp_path / "none.json")
    with pytest.raises(UserError, match="the token that ends a document"):
        read_frame(BARE)
    assert vocabulary_size(BARE) == 8


LETTERS = "abc"


@given(words=st.lists(st.text(LETTERS, min_size=1, max_size=12), min_size=1), data=st.data())
@settings(deadline=None, max_examples=200)
def test_pieces_and_counts_follow_every_merge(words: list[str], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(words), max_size=len(words)))
    vocabulary = {letter: number for number, letter in enumerate(LETTERS)}
    merges: list[tuple[str, str]] = []
    passed: set[tuple[int, int]] = set()
    segmentation = Segmentation([[vocabulary[x] for x in word] for word in words], weights, {})
    for _ in range(12):
        counts = Counter()
        for word, weight in zip(segmentation.words, weights, strict=True):
            for pair in pairwise(word):
                counts[pair] += weight
        heaviest = segmentation.heaviest()
        if heaviest is None:
            assert passed.issuperset(+counts)
            break
        pair, count = heaviest
        assert count == counts[pair]
        assert passed.issuperset(other for other in counts if counts[other] > count)
        if data.draw(st.booleans()):  # a pair may be left as it is
            passed.add(pair)
            continue
        names = list(vocabulary)
        merges.append((names[pair[0]], names[pair[1]]))
        piece = vocabulary.setdefault("".join(merges[-1]), len(vocabulary))
        segmentation.merge(pair, piece)
        model = models.BPE(vocab=vocabulary, merges=merges)
        theirs = [[token.id for token in model.tokenize(word)] for word in words]
        assert segmentation.words == theirs


def test_the_earlier_merges_go_on_applying() -> None:
    segmentation = Segmentation([[0, 1, 2]], [1], {(3, 2): 4})  # ab + c was learned before
    segmentation.merge((0, 1), 3)
    assert segmentation.words == [[4]]


def test_a_word_may_be_made_whole() -> None:
    segmentation = Segmentation([[0, 1, 2], [0, 1]], [5, 2], {})
    segmentation.make_whole(0, 9)
    assert segmentation.words == [[9], [0, 1]]
    assert segmentation.heaviest() == ((0, 1), 2)
