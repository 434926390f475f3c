"""Kept documents as tokens: encoded in parts, gathered in the order of the split."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from tests.text.corpora import quiet, read, recipe_of, text, text_of, write_rows
from tests.tokens.bases import gpt, unigram
from tongues.core.errors import UserError
from tongues.recipe import Recipe
from tongues.text import TextSource, find_sources, gather
from tongues.text.corpus import Corpus, Selection
from tongues.text.select import select
from tongues.text.tokens.fitting import make_tokenizer
from tongues.text.tokens.frame import TextFrame
from tongues.text.tokens.shards import open_shard, shard_dtype
from tongues.text.tokens.split import draw_held_out, split_documents
from tongues.text.tokens.tokenizer import END_ID, load_tokenizer, save_tokenizer, vocabulary_size
from tongues.text.tokens.writing import (
    counts_path,
    encode_part,
    encoded_tokens,
    lengths_of,
    write_language,
)


@dataclass
class Prepared:
    recipe: Recipe
    corpus: Corpus
    sources: list[TextSource]
    selection: Selection
    place: Path
    texts: dict[str, list[str]]


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    monkeypatch.setattr(gather, "_PART_DOCUMENTS", 9)
    texts = {
        "de": [text(i, 20 + i) for i in range(40)] + ["x"] * 3,
        "ru": [text(i, 25, "абвгдежзик") for i in range(30)],
    }
    files = {lang: str(write_rows(tmp_path / f"{lang}.jsonl", texts[lang])) for lang in texts}
    settings = recipe_of(text_of(files, {"characters": 150}))
    corpus, sources = read(settings.text, tmp_path / "corpus"), find_sources(settings.text)
    selection = select(settings.text, corpus, sources)
    place = corpus.path / "work/tokens"
    make_tokenizer(settings, corpus, selection, place, quiet)
    return Prepared(settings, corpus, sources, selection, place, texts)


def encode_all(prepared: Prepared) -> np.ndarray:
    tokenizer = load_tokenizer(prepared.place)
    for part in prepared.corpus.parts:
        encode_part(
            prepared.corpus,
            part,
            prepared.selection,
            tokenizer,
            TextFrame(END_ID, END_ID),
            quiet,
        )
    return lengths_of(prepared.corpus, prepared.selection)


def test_parts_are_encoded_as_the_tokenizer_says(prepared: Prepared) -> None:
    lengths = encode_all(prepared)
    tokenizer = load_tokenizer(prepared.place)
    dtype = shard_dtype(vocabulary_size(tokenizer))
    kept = prepared.selection.kept
    assert 0 < len(kept) < prepared.corpus.count
    alone = [
        [*tokenizer.encode(text, add_special_tokens=False).ids, END_ID]
        for text in prepared.corpus.chosen_texts(kept)
    ]
    assert lengths[kept].tolist() == [len(ids) for ids in alone]
    assert lengths.sum() == lengths[kept].sum()
    corpus = prepared.corpus
    together = [encoded_tokens(corpus, part, dtype) for part in corpus.parts]
    assert np.concatenate(together).tolist() == [number for ids in alone for number in ids]


def test_a_part_that_is_there_is_not_encoded_again(prepared: Prepared) -> None:
    before = encode_all(prepared)
    folder = prepared.corpus.path / "work/encoded"
    stamps = {path: path.stat().st_mtime_ns for path in folder.rglob("*.*") if path.is_file()}
    missing = sorted(folder.rglob("*.npy"))[1]
    missing.unlink()
    assert (encode_all(prepared) == before).all()
    again = {path for path, stamp in stamps.items() if path.stat().st_mtime_ns != stamp}
    assert again == {missing, missing.with_suffix(".bin")}


def test_shards_hold_the_documents_in_the_order_of_the_split(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tongues.text.tokens.writing._BATCH", 7)
    corpus = prepared.corpus
    lengths = encode_all(prepared)
    tokenizer = load_tokenizer(prepared.place)
    dtype = shard_dtype(vocabulary_size(tokenizer))
    selection = prepared.selection
    held_out = draw_held_out(prepared.recipe.tokens, corpus, selection, lengths)
    for lang in corpus.languages:
        documents = split_documents(
            prepared.recipe.tokens, lang, corpus, prepared.sources, selection, lengths, held_out
        )
        assert not len(documents["overlap"])
        write_language(lang, corpus, lengths, selection, documents, dtype)
        for split in ("train", "valid"):
            numbers = documents[split]
            shard = open_shard(prepared.place / lang / split)
            each = np.split(shard.tokens, shard.bounds[1:-1])
            texts = [tokenizer.decode(ids[:-1].tolist()) for ids in each]
            assert texts == corpus.chosen_texts(numbers)
            assert (
                corpus.numbers("exact")[numbers][1:] >= corpus.numbers("exact")[numbers][:-1]
            ).all()
        both = np.concatenate(list(documents.values()))
        code = corpus.languages.index(lang)
        kept = prepared.selection.kept
        assert sorted(both) == kept[corpus.lang[kept] == code].tolist()
        assert counts_path(corpus.path, lang).is_file()


def test_the_tokenizer_does_not_depend_on_the_order_of_documents(
    prepared: Prepared, tmp_path: Path
) -> None:
    files = {
        lang: str(write_rows(tmp_path / f"turned/{lang}.jsonl", texts[::-1]))
        for lang, texts in prepared.texts.items()
    }
    settings = recipe_of(text_of(files, {"characters": 150}), sample="4 kB")
    corpus = read(settings.text, tmp_path / "turned/corpus")
    selection = select(settings.text, corpus, find_sources(settings.text))
    turned = make_tokenizer(settings, corpus, selection, tmp_path / "turned/tokens", quiet)
    small = prepared.recipe.tokens.model_copy(update={"sample": 4000})
    recipe = prepared.recipe.model_copy(update={"tokens": small})
    again = make_tokenizer(recipe, prepared.corpus, prepared.selection, tmp_path / "x", quiet)
    assert turned.to_str() == again.to_str()


@pytest.mark.parametrize(
    ("make", "code"), [(gpt, "spelt_out"), (unigram, "unknown_text")], ids=["bytes", "unigram"]
)
def test_a_language_that_the_tokenizer_cannot_spell_is_refused(
    prepared: Prepared, tmp_path: Path, make: Callable[..., Tokenizer], code: str
) -> None:
    base = tmp_path / "base"
    save_tokenizer(make(prepared.texts["de"], 300), base)
    for spelling in ("refuse", "allow"):
        tokens = prepared.recipe.tokens.model_copy(
            update={"base": str(base), "byte_fallback": spelling}
        )
        recipe = prepared.recipe.model_copy(update={"tokens": tokens})
        given = recipe, prepared.corpus, prepared.selection, tmp_path / spelling, quiet
        if spelling == "allow":
            make_tokenizer(*given)
            continue
        with pytest.raises(UserError) as error:
            make_tokenizer(*given)
        assert error.value.code == code and error.value.where == "text of ru"
