"""A corpus of several languages, sources and parts, column by column."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from tests.golden import inputs
from tests.text.corpora import USUAL, read, select_again, text, text_of, write_rows
from tongues import recipe
from tongues.core.errors import UserError
from tongues.core.files import read_json, write_json
from tongues.text import Document, find_sources, gather, hash64
from tongues.text import corpus as corpora
from tongues.text.corpus import Corpus, open_corpus, part_path, read_columns, table_of, write_part
from tongues.text.select import select
from tongues.text.signals import BANDS, NEAR, SIGNALS, SIGNATURE, load_benchmarks, load_identifier
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


FEW: list[str] = inputs("texts-of-sources")["few"]
DOCUMENTS = [Document(str(i), "de", each, f"group {i // 2}", "x") for i, each in enumerate(FEW)]


def measured(documents: list[Document]) -> pyarrow.Table:
    return table_of(documents, load_identifier(None), load_benchmarks([]), SIGNALS.built_in)


def test_signals_are_what_the_text_says() -> None:
    table = measured(DOCUMENTS)
    assert table["text"].to_pylist() == FEW
    assert table["id"].to_pylist() == [d.id for d in DOCUMENTS]
    assert table["bytes"].to_numpy().tolist() == [len(each.encode()) for each in FEW]
    assert table["characters"].to_numpy().tolist() == [len(each) for each in FEW]
    assert table["exact"].to_numpy().tolist() == [hash64(each) for each in FEW]
    assert table["group_hash"].to_numpy().tolist() == [hash64(d.group) for d in DOCUMENTS]
    assert table["label"].to_pylist()[:4] == ["en", "de", "ru", "ja"]
    assert table["script"].to_pylist()[:3] == ["Latn", "Latn", "Cyrl"]
    assert table["language_share"].to_numpy()[:3].tolist() == [0.0, 1.0, 0.0]
    assert table["benchmark"].to_numpy().tolist() == [0] * len(FEW)
    for signal in SIGNALS.built_in:
        if signal is not NEAR:
            assert str(table[signal.name].to_numpy().dtype) == signal.dtype
    for name in ("digits", "symbols", "script_share", "repetition", "repeated_lines"):
        assert ((table[name].to_numpy() >= 0) & (table[name].to_numpy() <= 1)).all()
    assert table["repeated_lines"].to_numpy()[6] > 0.5
    assert [name for name in table.column_names if name.startswith("band_")] == [
        f"band_{number:02}" for number in range(BANDS)
    ]
    assert table["signature"].type.byte_width == 2 * SIGNATURE


def test_a_language_that_cannot_be_told_has_no_share_of_it() -> None:
    table = measured([Document("0", "qaa", text(1), "0", "x")])
    assert str(table["language_share"].to_numpy()[0]) == "nan"


def test_signals_do_not_depend_on_what_is_measured_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together = measured(DOCUMENTS)
    monkeypatch.setattr(corpora, "_BATCH", 60)
    apart = measured(DOCUMENTS)
    for name in together.column_names:
        assert apart[name].equals(together[name]), name


def test_a_part_is_read_as_it_was_written(tmp_path: Path) -> None:
    table, path = measured(DOCUMENTS), part_path(tmp_path, 12)
    write_part(path, table)
    assert path.name == "00012.parquet"
    assert read_columns(path, table.column_names).to_pylist() == table.to_pylist()
    before = path.read_bytes()
    write_part(path, table)
    assert path.read_bytes() == before


@pytest.mark.parametrize("how", ["gone", "cut", "flipped"])
def test_a_damaged_part_is_named_with_the_cure(tmp_path: Path, how: str) -> None:
    path = part_path(tmp_path / "source", 0)
    write_part(path, measured(DOCUMENTS))
    content = bytearray(path.read_bytes())
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(content[:-100])
    else:
        content[20:60] = bytes(40)
        path.write_bytes(content)
    with pytest.raises(UserError) as error:
        read_columns(path, ["id", "text"])
    assert error.value.where == str(path)
    assert f"remove `{path.parent}`" in error.value.hint


ENGLISH = "The river was wide and slow, and the old man who lived on its bank knew every boat. "
SWAHILI = "Mto ulikuwa mpana na wa polepole, na mzee aliyeishi kando yake alijua kila mashua. "


def summary_of(settings: recipe.Text, folder: Path) -> dict[str, Any]:
    select_again(settings, folder)
    return read_json(folder / "corpus.json")


def codes(summary: dict[str, Any]) -> list[str]:
    return [caution["code"] for caution in summary["cautions"]]


@pytest.fixture
def settings(tmp_path: Path) -> recipe.Text:
    swahili = [SWAHILI * (4 + i) + f"Siku ya {i}." for i in range(12)] + ["?", "?"]
    mixed = [SWAHILI * 8 + "\n" + ENGLISH * 4]
    english = [ENGLISH * 5 + text(i, 9) for i in range(4)]
    rows = [{"text": each} for each in swahili + mixed + english] + [{"no": 1}, {"text": " "}]
    files = {
        "sw": str(write_rows(tmp_path / "sw.jsonl", rows)),
        "de": str(write_rows(tmp_path / "de.jsonl", [text(i, 40) for i in range(9)])),
    }
    return text_of(files, {"language": 0.5, "near": 0.9})


def test_what_came_in_was_kept_or_dropped_for_a_reason(
    tmp_path: Path, settings: recipe.Text
) -> None:
    corpus, selection, _ = select_again(settings, tmp_path / "corpus")
    summary = read_json(tmp_path / "corpus/corpus.json")
    for code, lang in enumerate(corpus.languages):
        about = summary["languages"][lang]
        here = corpus.lang == code
        texts = np.array(corpus.chosen_texts(np.flatnonzero(here)), dtype=object)
        fates = {"kept": about["kept"], **about["dropped"]}
        for number, why in enumerate(summary["reasons"]):
            chosen = texts[selection.reason[here] == number].tolist()
            amounts = {
                "documents": len(chosen),
                "bytes": sum(len(each.encode()) for each in chosen),
            }
            assert fates.get(why, dict.fromkeys(amounts, 0)) == amounts
            samples = [row["text"] for row in about["samples"].get(why, [])]
            assert len(samples) == min(len(chosen), 5)
            assert set(samples) <= {each[:400] for each in chosen}
        for word in ("documents", "bytes"):
            assert about["read"][word] == sum(fate[word] for fate in fates.values())
        assert sum(about["labels"].values()) == about["read"]["documents"]
        assert sum(about["scripts"].values()) == about["read"]["documents"]


def test_foreign_documents_go_and_foreign_text_inside_is_measured(
    tmp_path: Path, settings: recipe.Text
) -> None:
    about = summary_of(settings, tmp_path / "corpus")["languages"]["sw"]
    assert about["dropped"]["other language"]["documents"] >= 4
    assert about["labels"]["en"] == 4
    inside = 4 * len(ENGLISH) / about["kept"]["bytes"]
    assert about["foreign"] == pytest.approx(inside, abs=0.01)
    assert about["foreign"] == pytest.approx(1 - about["identified"]["sw"], abs=0.02)


def test_faults_and_places_that_hold_nothing_are_cautioned(
    tmp_path: Path, settings: recipe.Text
) -> None:
    (tmp_path / "none.jsonl").write_text('[]\n"')
    files = {lang: list(each.paths) for lang, each in settings.files.items()}
    files["de"].append(f"{tmp_path}/none.jsonl")
    summary = summary_of(text_of(files), tmp_path / "corpus")
    told = codes(summary)
    assert (told.count("unreadable_places"), told.count("empty_source")) == (2, 1)
    swahili, (german, nothing) = (summary["languages"][lang]["sources"] for lang in ("sw", "de"))
    assert swahili[0]["faults"] == {"no text": 1, "empty": 1}
    assert [row["reason"] for row in swahili[0]["fault_samples"]] == ["no text", "empty"]
    assert swahili[0]["documents"] == 19
    assert german["faults"] == {}
    assert nothing["documents"] == 0
    assert sum(nothing["faults"].values()) == 2


def test_much_foreign_text_is_a_caution(tmp_path: Path) -> None:
    rows = [SWAHILI * 6 + ENGLISH * 4 + text(i, 9) for i in range(9)]
    settings = text_of({"sw": str(write_rows(tmp_path / "sw.jsonl", rows))}, {"language": 0.3})
    summary = summary_of(settings, tmp_path / "corpus")
    assert codes(summary) == ["other_languages_inside"]
    assert summary["languages"]["sw"]["foreign"] > 0.3


def test_what_cannot_be_told_is_null_and_all_of_it_is_json(tmp_path: Path) -> None:
    made = {"size": "20 kB", "languages": {"qaa": {}}}
    (tmp_path / "a.jsonl").write_text("{}\n")
    settings = recipe.Text.model_validate(
        {"synthetic": made, "files": {"de": [f"{tmp_path}/a.jsonl"]}}
    )
    summary = summary_of(settings, tmp_path / "corpus")
    for lang in ("qaa", "de"):
        assert summary["languages"][lang]["foreign"] is None
    strict = json.loads((tmp_path / "corpus/corpus.json").read_text(), parse_constant=pytest.fail)
    assert strict == summary
