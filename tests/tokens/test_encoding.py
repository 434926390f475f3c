"""Texts as tokens in their frames, what tokens spell, and where frames are read from."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, processors

from tests.tokens.bases import gpt, llama, parts_of, rebuilt, unigram
from tongues.core.errors import UserError
from tongues.text.tokens.frame import TextFrame, encode_framed, read_frame, same_but_frame
from tongues.text.tokens.spelling import byte_alphabet, token_bytes, token_spellings
from tongues.text.tokens.tokenizer import load_tokenizer, save_tokenizer

SAMPLE = ["The quick brown fox: 3 dogs, it's  here!\n\n Über den Zaun im Jahr 1984 , …"] * 20
TEXTS = ["", "the fox\n\n Zaun", "Über 12 dogs, it's  <|endoftext|> 大 e\u0301 😀 "]


@pytest.mark.parametrize("frame", [TextFrame(298, 299), TextFrame(None, 299)])
def test_texts_have_the_tokens_of_the_tokenizer(frame: TextFrame) -> None:
    tokenizer, before = gpt(SAMPLE, 300), [] if frame.start is None else [298]
    tokens, lengths = encode_framed(tokenizer, frame, TEXTS, np.dtype("<u2"))
    assert tokens.dtype == np.dtype("<u2") and lengths.dtype == np.int64
    parts = np.split(tokens, np.cumsum(lengths)[:-1])
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
    assert [part.tolist() for part in parts] == [[*before, *each, 299] for each in ids]
    nothing = encode_framed(tokenizer, frame, [], np.dtype("<u2"))
    assert [each.tolist() for each in nothing] == [[], []]


ENGLISH = ["The quick brown fox jumps over the lazy dog. It was 1984, and it rained."] * 20

GPT, LLAMA, UNIGRAM = gpt(ENGLISH, 300), llama(ENGLISH, 330), unigram(ENGLISH, 60)


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


TEXT = ["The quick brown fox jumps over the lazy dog."] * 20
END, START = 289, 290  # of `gpt(TEXT, 300)`
SENTENCE = "the dog and the fox"


def with_template(tokenizer: Tokenizer, *names: str) -> Tokenizer:
    """As Llama 3's and Gemma's: special tokens before every text."""
    pairs = [(name, tokenizer.token_to_id(name)) for name in names]
    single = " ".join([*(f"{name}:0" for name in names), "$A:0"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single, pair=f"{single} $B:1", special_tokens=pairs
    )
    return tokenizer


def test_the_start_is_what_the_template_puts_before_a_text() -> None:
    assert read_frame(gpt(TEXT, 300)) == TextFrame(None, END)
    assert read_frame(with_template(gpt(TEXT, 300), "<|im_start|>")) == TextFrame(START, END)
    assert read_frame(with_template(gpt(TEXT, 300), "<|endoftext|>", "<|im_start|>")).start == START


@pytest.mark.parametrize("token", ["<|im_start|>", {"content": "<|im_start|>", "special": True}])
def test_the_start_may_be_named_in_the_settings_alone(token: object, tmp_path: Path) -> None:
    tokenizer = gpt(TEXT, 300)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    for adds, start in ((True, START), (False, None), (None, None)):
        settings = {"bos_token": token, "add_bos_token": adds}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
        assert read_frame(tokenizer, tmp_path / "tokenizer.json").start == start


@pytest.mark.parametrize("start", ["none", "<|im_start|>"])
def test_an_exported_tokenizer_ends_no_prompt(start: str, tmp_path: Path) -> None:
    base = gpt(TEXT, 300)
    base.post_processor = processors.TemplateProcessing(
        single="<|im_start|> $A <|endoftext|>",
        special_tokens=[("<|im_start|>", START), ("<|endoftext|>", END)],
    )
    base.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"add_eos_token": True}))
    save_tokenizer(base, tmp_path / "new", tmp_path, start)
    settings = json.loads((tmp_path / "new" / "tokenizer_config.json").read_text())
    assert settings["add_eos_token"] is False
    ids = load_tokenizer(tmp_path / "new").encode(SENTENCE).ids
    plain = base.encode(SENTENCE, add_special_tokens=False).ids
    assert ids == ([] if start == "none" else [START]) + plain


def test_every_window_begins_with_the_start_unless_it_ends_documents_too() -> None:
    windows = np.arange(6).reshape(2, 3)
    assert TextFrame(START, END).begin(windows.copy()).tolist() == [[START, 1, 2], [START, 4, 5]]
    both = TextFrame(7, 7)
    assert both.bos is None and both.first == TextFrame(None, 7).first == 7
    assert both.begin(windows.copy()).tolist() == windows.tolist()


@pytest.mark.parametrize("make", [gpt, llama])
@pytest.mark.parametrize("adds", [True, False])
def test_hugging_face_frames_texts_as_it_was_asked(make, adds: bool, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = make(TEXT, 300)
    special = [x.content for x in tokenizer.get_added_tokens_decoder().values() if x.special]
    name = next(x for x in special if x in ("<|im_start|>", "<s>"))
    save_tokenizer(with_template(make(TEXT, 300), *([] if adds else [name])), tmp_path / "base")
    base = load_tokenizer(tmp_path / "base")
    save_tokenizer(base, tmp_path / "own", tmp_path / "base", name if adds else "none")
    ids = tokenizer.encode(SENTENCE, add_special_tokens=False).ids
    before = [tokenizer.token_to_id(name)] if adds else []
    theirs = AutoTokenizer.from_pretrained(tmp_path / "own")
    assert theirs(SENTENCE)["input_ids"] == [*before, *ids]
    frame = read_frame(load_tokenizer(tmp_path / "own"), tmp_path / "own")
    assert frame.start == (before[0] if before else None)
    settings = json.loads((tmp_path / "own/tokenizer_config.json").read_text())
    assert settings.get("add_bos_token", False) is adds
    assert same_but_frame(load_tokenizer(tmp_path / "own"), tokenizer)


def test_a_start_that_is_no_special_token_is_refused() -> None:
    tokenizer = gpt(TEXT, 300)
    assert read_frame(tokenizer, start="<|im_start|>").start == START
    for start in ("<bos>", "dog", "a"):
        with pytest.raises(UserError, match="not a special token") as error:
            read_frame(tokenizer, start=start)
        assert "<|im_start|>" in (error.value.hint or "")


def test_other_vocabularies_differ_in_more_than_their_frame() -> None:
    one = gpt(TEXT, 300)
    assert same_but_frame(one, with_template(gpt(TEXT, 300), "<|im_start|>"))
    assert not same_but_frame(one, gpt(TEXT, 270))
