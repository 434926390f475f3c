"""An extended tokenizer reads new languages better and the old ones to the same ids."""

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, processors
from tokenizers.processors import PostProcessor

from tests.text import real
from tests.text.corpora import recipe_of, text_of, write_rows
from tests.text.real import needs_text
from tests.tokens.bases import gpt, llama, parts_of, rebuilt, unigram
from tongues.core.errors import UserError
from tongues.text.signals.characters import script_of
from tongues.text.tokens import prepare_tokens
from tongues.text.tokens.extend import Extended, extend_tokenizer, shorten
from tongues.text.tokens.fertility import changed_share
from tongues.text.tokens.fitting import trim_tokenizer
from tongues.text.tokens.frame import read_frame
from tongues.text.tokens.spelling import token_spellings
from tongues.text.tokens.tokenizer import (
    load_tokenizer,
    save_tokenizer,
    train_tokenizer,
    vocabulary_size,
)

PIECES = 150

both_kinds = pytest.mark.parametrize("kind", ["gpt", "llama", "whole words"])
both_scripts = pytest.mark.parametrize("lang", ["el", "sw"])


def texts(lang: str) -> list[str]:
    return real.texts("bible" if lang == "en" else "ms_beginners", lang, 45)


@cache
def base(kind: str) -> Tokenizer:
    if kind != "whole words":
        return {"gpt": gpt, "llama": llama}[kind](texts("en"), 700)
    parts = parts_of(base("gpt"))
    parts["model"]["ignore_merges"] = True
    return rebuilt(parts)


@cache
def extended(kind: str, lang: str) -> Extended:
    return extend_tokenizer(base(kind), {lang: texts(lang)[:30]}, texts("en")[:30], PIECES)


def ids_of(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False).ids


@needs_text
@both_kinds
@both_scripts
def test_kept_text_has_identical_ids_and_new_text_far_fewer(kind: str, lang: str) -> None:
    new = extended(kind, lang)
    for text in texts("en")[:30]:
        assert ids_of(new.tokenizer, text) == ids_of(base(kind), text)
    unseen = "\n".join(texts(lang)[30:])
    count = len(ids_of(base(kind), unseen))
    assert len(ids_of(new.tokenizer, unseen)) < count * (0.5 if lang == "el" else 0.92)
    old_ids, new_ids = (
        Counter(ids_of(tokenizer, "\n".join(texts("en")[30:])))
        for tokenizer in (base(kind), new.tokenizer)
    )
    assert (old_ids - new_ids).total() < 0.005 * old_ids.total()


@needs_text
@both_kinds
@both_scripts
def test_new_ids_follow_the_old_ones_and_spell_their_parts(kind: str, lang: str) -> None:
    old, new = base(kind), extended(kind, lang)
    assert len(new.added) == len(new.parts) == PIECES
    assert new.tokenizer.get_vocab().items() >= old.get_vocab().items()
    first = vocabulary_size(old)
    assert vocabulary_size(new.tokenizer) == first + PIECES
    spelt = token_spellings(new.tokenizer)
    for number, (piece, parts) in enumerate(zip(new.added, new.parts, strict=True), start=first):
        assert new.tokenizer.token_to_id(piece) == number
        assert max(parts) < first
        assert b"".join(spelt[part] for part in parts) == spelt[number] != b""
    assert read_frame(new.tokenizer) == read_frame(old)


@needs_text
@both_kinds
@both_scripts
def test_any_text_decodes_to_itself(kind: str, lang: str) -> None:
    tokenizer = extended(kind, lang).tokenizer
    letters = sorted(set("".join(texts(lang)[:3])))

    @given(
        text=st.text(st.sampled_from(letters))
        | st.text(st.characters(codec="utf-8", exclude_characters="▁"))
    )
    @settings(deadline=None, max_examples=60)
    def check(text: str) -> None:
        assert tokenizer.decode(ids_of(tokenizer, text)) == text

    check()
    for text in texts(lang)[:5]:
        assert tokenizer.decode(ids_of(tokenizer, text)) == text


@needs_text
@both_kinds
def test_hugging_face_loads_it(kind: str, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    old, new = tmp_path / "old", tmp_path / "new"
    save_tokenizer(base(kind), old)
    tokenizer = extended(kind, "el").tokenizer
    save_tokenizer(tokenizer, new, old)
    text = texts("el")[40] + " and English 12"
    theirs = AutoTokenizer.from_pretrained(new)
    assert theirs(text, add_special_tokens=False)["input_ids"] == ids_of(tokenizer, text)
    assert ids_of(load_tokenizer(new), text) == ids_of(tokenizer, text)
    assert len(theirs) == vocabulary_size(tokenizer)
    assert theirs.eos_token_id == read_frame(base(kind)).end


@needs_text
@both_kinds
def test_a_shortened_extension_is_a_smaller_one(kind: str) -> None:
    less = vocabulary_size(base(kind)) + 60
    small = extend_tokenizer(base(kind), {"el": texts("el")[:30]}, texts("en")[:30], 60)
    cut = shorten(extended(kind, "el").tokenizer, less)
    assert cut.get_vocab() == small.tokenizer.get_vocab()
    merges = parts_of(small.tokenizer)["model"]["merges"]
    assert parts_of(cut)["model"]["merges"][: len(merges)] == merges


def letters_of(spelling: bytes) -> set[str | None]:
    return {script_of(letter) for letter in spelling.decode(errors="ignore")} - {None}


@pytest.mark.parametrize("kind", ["gpt", "llama"])
def test_signs_digits_and_foreign_words_are_no_reason_for_a_token(kind: str) -> None:
    tokenizer = {"gpt": gpt, "llama": llama}[kind](["some words here"] * 9, 290)
    target = ["λόγος --- 1234 …… “λόγος” function θεός"] * 99 + ["άλφα"]
    for lang, texts, script in (
        ("el", target, "Grek"),
        ("sw", ["-- 12 function kwaJQZ"] * 9 + ["alpha"], "Latn"),
    ):
        new = extend_tokenizer(tokenizer, {lang: texts}, ["some words"], 40)
        spelt = [
            s.decode(errors="ignore")
            for s in token_spellings(new.tokenizer)[vocabulary_size(tokenizer) :]
        ]
        assert any(len(text) > 4 for text in spelt)
        assert all(letters_of(text.encode()) == {script} for text in spelt if text.strip())
        assert not set("".join(spelt)) & set("-…1234“”JQZ")


@needs_text
def test_languages_weigh_the_same_whatever_their_size() -> None:
    few, many = texts("el")[:4], texts("el")[:4] * 5
    target = {"sw": texts("sw")[:10], "el": few}
    first = extend_tokenizer(base("gpt"), target, texts("en")[:5], 60)
    second = extend_tokenizer(base("gpt"), target | {"el": many}, texts("en")[:5], 60)
    assert first.added == second.added
    greek = sum(any(byte in (0xCE, 0xCF) for byte in token_spellings(first.tokenizer)[-60 + i])
                for i in range(60))  # fmt: skip
    assert 10 < greek < 50


@needs_text
def test_it_is_the_same_every_time() -> None:
    target = {"sw": texts("sw")[:10], "el": texts("el")[:10]}
    keep = texts("en")[:10]
    first = extend_tokenizer(base("llama"), target, keep, 50)
    backwards = {lang: some[::-1] for lang, some in reversed(target.items())}
    assert extend_tokenizer(base("llama"), backwards, keep[::-1], 50).tokenizer.to_str() == (
        first.tokenizer.to_str()
    )


def test_text_that_spells_special_tokens_makes_none() -> None:
    for tokenizer in (gpt(["end of text"] * 9, 270), llama(["end of text"] * 9, 290)):
        special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        target = [*special, "<0xE2>", "</s>"] * 99
        new = extend_tokenizer(tokenizer, {"qaa": target}, [], 100).tokenizer
        for text in target[:6]:
            assert new.decode(ids_of(new, text)) == text
            assert tokenizer.token_to_id(text) not in ids_of(new, text)


def test_little_text_gives_few_pieces() -> None:
    tokenizer = gpt(["some words here"] * 9, 270)
    assert extend_tokenizer(tokenizer, {"qaa": []}, [], 100).added == []
    assert extend_tokenizer(tokenizer, {"qaa": ["xyz xyz"]}, [], 100).added == ["xy", "xyz"]


def test_only_byte_pair_encoding_can_be_continued() -> None:
    tokenizer = unigram(["the quick brown fox", "jumps"] * 9, 40)
    with pytest.raises(UserError, match="Unigram") as error:
        extend_tokenizer(tokenizer, {"qaa": ["xyz"]}, [], 100)
    assert "train one" in error.value.hint


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


TOKENS = {"held_out": "100 tokens", "byte_fallback": "allow"}


def sentences(words: str, count: int) -> list[str]:
    """Texts of 12 of these words at random."""
    rng = np.random.default_rng(len(words))
    return [" ".join(rng.choice(words.split(), 12)) for _ in range(count)]


PLAIN = sentences("the cat sat on a mat and one dog lay by it while two men ate their soup", 90)
ODD = sentences("ziggurat zigzags in zinc of the zoo", 20)
NEW = sentences("mulazig zig azigu lazigi zigamu zigola amu lazi guzi zimu", 90)


def files_of(folder: Path, **texts: list[str]) -> dict[str, str]:
    """A file of rows for each name."""
    return {name: str(write_rows(folder / f"{name}.jsonl", rows)) for name, rows in texts.items()}


def test_text_that_the_extension_has_not_seen_changes(tmp_path: Path) -> None:
    """Text of another source, or of a single one a tenth that is left out."""
    files = files_of(tmp_path, plain=PLAIN, odd=ODD, new=NEW)
    base = train_tokenizer({"en": PLAIN}, {"en": 3000}, 300)
    save_tokenizer(base, tmp_path / "base")
    extend = {"new_tokens": 30, "languages": ["qaa"], "preserve": ["en"]}
    settings = {"base": str(tmp_path / "base"), "extend": extend, **TOKENS}
    shares = []
    for english in (["plain", "odd"], ["plain"]):
        text = text_of({"en": [files[name] for name in english], "qaa": files["new"]})
        printed: list[str] = []
        made = prepare_tokens(recipe_of(text, **settings), tmp_path / english[-1], printed.append)
        (line,) = (line for line in printed if "would change" in line)
        share, source = line.removeprefix("en: ").split("% of the tokens of ")
        left_out = files["odd"] if english[1:] else "a tenth of this text"
        assert source.startswith(f"{left_out} would change, had it not been read")
        shares.append(float(share))
        # The extension itself has seen that source, which keeps its tokens.
        assert changed_share(base, load_tokenizer(made), ODD if english[1:] else PLAIN) == 0
    assert 2 < shares[0] < 60 and shares[1] < 0.1


def test_a_tokenizer_tells_which_languages_are_repeated(tmp_path: Path) -> None:
    printed: list[str] = []
    for count in (60, 30):
        files = files_of(tmp_path / str(count), en=PLAIN, qaa=NEW[:count])
        settings = recipe_of(text_of(files), **TOKENS)
        prepare_tokens(settings, tmp_path / str(count), printed.append)
    even, uneven = (line for line in printed if line.startswith("training a tokenizer on "))
    assert even.endswith(" of text")
    assert uneven.endswith("of text; that of qaa is repeated, to have as much of each language")
