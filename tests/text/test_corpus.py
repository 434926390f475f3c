"""A corpus of several languages, sources and parts, column by column."""

from pathlib import Path

import numpy as np
import pytest

from tests.text.corpora import USUAL, read, text, text_of, write_rows
from tongues.errors import UserError
from tongues.files import read_json, write_json
from tongues.text import find_sources, gather, hash64
from tongues.text.corpus import Corpus, open_corpus, read_columns
from tongues.text.select import select
from tongues.text.signals.near import near_signals
from tongues.text.signals.units import units

TEXTS = {
    "de": [[text(i, 30) for i in range(11)], [text(i, 30) for i in range(20, 24)]],
    "ru": [[text(i, 30, "абвгдежзиклмнопрст") for i in range(40, 47)]],
}
ALL = [each for sources in TEXTS.values() for source in sources for each in source]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    monkeypatch.setattr(gather, "_PART_DOCUMENTS", 4)
    files = {
        lang: [
            str(write_rows(tmp_path / f"{lang}{number}.jsonl", source))
            for number, source in enumerate(sources)
        ]
        for lang, sources in TEXTS.items()
    }
    return read(text_of(files), tmp_path / "corpus")


def test_documents_are_numbered_in_reading_order(corpus: Corpus) -> None:
    assert corpus.languages == ("de", "ru")
    assert corpus.count == len(ALL)
    assert [part.count for part in corpus.parts] == [4, 4, 3, 4, 4, 3]
    assert corpus.lang.tolist() == [0] * 15 + [1] * 7
    assert corpus.numbers("exact").tolist() == [hash64(each) for each in ALL]
    for part in corpus.parts:
        assert corpus.texts(part, np.arange(part.count)) == ALL[part.first :][: part.count]


def test_chosen_texts_come_in_the_order_asked(corpus: Corpus) -> None:
    chosen = np.random.default_rng(1).permutation(len(ALL))[:9]
    assert corpus.chosen_texts(chosen) == [ALL[i] for i in chosen]
    assert corpus.chosen_texts(np.array([3, 3, 0])) == [ALL[3], ALL[3], ALL[0]]
    assert corpus.chosen_texts(np.empty(0, int)) == []


def test_words_and_shares_are_those_of_the_documents(corpus: Corpus) -> None:
    codes, names = corpus.words("script")
    assert [names[code] for code in codes] == ["Latn"] * 15 + ["Cyrl"] * 7
    rows = [row for part in corpus.parts for row in read_columns(part.path, ["labels"]).to_pylist()]
    told: dict[int, list[str]] = {}
    for part, document, labels, shares in corpus.identified():
        for number, label, share in zip(document, labels, shares, strict=True):
            told.setdefault(part.first + int(number), []).append(str(label))
            assert 0 < share <= 1
    assert told == {number: row["labels"] for number, row in enumerate(rows)}


def test_signatures_and_bands_are_those_of_the_documents(corpus: Corpus) -> None:
    near = near_signals(units(ALL))
    chosen = np.random.default_rng(2).integers(0, len(ALL), 40)
    assert (corpus.signatures(chosen) == near.signature[chosen]).all()
    for number in (0, 23):
        assert (corpus.numbers(f"band_{number:02}") == near.bands[:, number]).all()


def test_a_corpus_that_is_not_read_to_its_end_is_refused(tmp_path: Path) -> None:
    settings = text_of({"de": str(write_rows(tmp_path / "a.jsonl", ALL[:3]))})
    read(settings, tmp_path / "corpus")
    (mark,) = (tmp_path / "corpus").rglob("source.json")
    write_json(mark, read_json(mark) | {"complete": False})
    with pytest.raises(UserError, match="not been read to its end"):
        open_corpus(tmp_path / "corpus", find_sources(settings))


def test_a_corpus_without_documents_has_all_columns(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n")
    settings = text_of({"de": f"{tmp_path}/a.jsonl"}, USUAL)
    corpus = read(settings, tmp_path / "corpus")
    assert corpus.count == len(select(settings, corpus, find_sources(settings)).kept) == 0
    assert corpus.languages == ("de",)
    assert corpus.numbers("bytes").tolist() == corpus.numbers("band_03").tolist() == []
    assert corpus.words("label")[1] == list(corpus.identified()) == []
    assert corpus.signatures(np.empty(0, int)).shape == (0, 120)
