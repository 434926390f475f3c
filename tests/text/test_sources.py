"""The text of a recipe: made or from files, and the mistakes found beforehand."""

import json
import sys
import time
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import cases, golden
from tongues.core.errors import UserError
from tongues.recipe import Text
from tongues.text import (
    Document,
    check_text,
    describe_synthetic,
    find_sources,
    read_source,
    text_bytes,
)
from tongues.text.document import normalised


def made(languages: dict[str, Any], size: str = "20 kB") -> Text:
    return Text.model_validate({"synthetic": {"size": size, "languages": languages}})


def files(languages: dict[str, list[str]]) -> Text:
    return Text.model_validate({"files": languages})


def documents_of(settings: Text, lang: str) -> list[Document]:
    items = [
        item
        for source in find_sources(settings)
        if source.lang == lang
        for item, _ in read_source(source)
    ]
    return [item for item in items if isinstance(item, Document)]


def test_a_made_language_fills_its_size_and_no_more() -> None:
    settings = made({"qaa": {}, "qab": {"parent": "qaa", "divergence": 0.3}})
    for lang in settings.languages:
        documents = documents_of(settings, lang)
        size = sum(len(d.text.encode()) for d in documents)
        assert 17_000 < size <= 20_000
        assert {d.lang for d in documents} == {lang}
        assert documents == documents_of(settings, lang)
    assert len(documents_of(made({"qaa": {}}, "1 B"), "qaa")) == 1


def test_more_text_begins_with_less() -> None:
    less = documents_of(made({"qaa": {}}), "qaa")
    more = documents_of(made({"qaa": {}}, "50 kB"), "qaa")
    assert more[: len(less)] == less
    assert len(more) > len(less)


def test_made_languages_tell_different_documents() -> None:
    settings = made({"qaa": {}, "qab": {"parent": "qaa", "divergence": 0.3}})
    parent, child = ({d.group for d in documents_of(settings, tag)} for tag in ("qaa", "qab"))
    assert parent
    assert parent.isdisjoint(child)


def test_a_language_from_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hei")
    settings = files({"no": [f"{tmp_path}/*.txt"]})
    check_text(settings)
    assert [(d.lang, d.text) for d in documents_of(settings, "no")] == [("no", "hei")]
    assert text_bytes(find_sources(settings)) == {"no": 3}


def test_a_source_resumes_where_it_was_left() -> None:
    (source,) = find_sources(made({"qaa": {}}))
    items = list(read_source(source))
    _, state = items[7]
    assert list(read_source(source, state)) == items[8:]


@pytest.mark.parametrize("settings", cases("refused-texts"))
def test_what_cannot_be_is_refused_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        check_text(Text.model_validate_json(settings))
    golden(f"refused-texts/{settings}", str(caught.value).replace(str(tmp_path), "FOLDER"))


def test_a_column_that_no_file_has_is_refused_beforehand(tmp_path: Path) -> None:
    rows = [{"text": "a b", "page": 1}, {"text": "a c", "book": "x"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "b.csv").write_text("text,chapter\na d,2\n")
    for columns in ({"group": "book"}, {"group": "chapter", "id": "page"}):  # in some rows or files
        check_text(table(tmp_path, columns))
    for part in ("group", "id", "text"):
        with pytest.raises(UserError, match="no file has a column `nosuch`") as caught:
            check_text(table(tmp_path, {part: "nosuch"}))
        assert caught.value.where == f"text.files.de.columns.{part}"
        assert caught.value.hint == "the columns are `text`, `page`"
    (tmp_path / "c.txt").write_text("a e")  # which has no columns
    check_text(table(tmp_path, {"group": "nosuch"}))


def test_text_without_its_usual_column_is_refused_beforehand(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"body": "a b"}))
    with pytest.raises(UserError, match="no file has a column `text`") as caught:
        check_text(files({"de": [str(tmp_path)]}))
    assert caught.value.where == "text.files.de.columns.text"
    assert caught.value.hint.startswith("the columns are `body`; name the one of the text")
    assert f"{{paths: [{tmp_path}], columns: {{text: COLUMN}}}}" in caught.value.hint
    check_text(table(tmp_path, {"text": "body"}))
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": "a b"}))
    check_text(files({"de": [str(tmp_path)]}))


def table(folder: Path, columns: dict[str, str]) -> Text:
    return Text.model_validate({"files": {"de": {"paths": [str(folder)], "columns": columns}}})


def test_relatedness_is_told_in_numbers() -> None:
    children = {
        tag: {"parent": "qaa", "divergence": divergence}
        for tag, divergence in (("qab", 0.0), ("qac", 0.2), ("qad", 0.5))
    }
    settings = made({"qaa": {}, **children}).synthetic
    assert settings
    same, near, far = describe_synthetic(settings)
    assert shares(same) == 100
    assert "`qac` drifted from `qaa` by 0.2" in near
    assert shares(near) > shares(far) > 0


def shares(sentence: str) -> int:
    return int(sentence.split("shares ")[1].split("%")[0])


def test_small_text_files_are_read_in_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongues.text.sources._RUN", 3)
    monkeypatch.setattr("tongues.text.sources._CUT", 1 << 300)  # no cut by a path's hash
    for number in range(7):
        (tmp_path / f"{number}.txt").write_text(f"hei {number}")
    (tmp_path / "lines.jsonl").write_text('{"text": "hei"}')
    sources = find_sources(files({"no": [str(tmp_path)]}))
    assert [len(source.paths) for source in sources] == [3, 3, 1, 1]
    assert len({source.name for source in sources}) == 4
    items = list(read_source(sources[0]))
    assert [item.text for item, _ in items if isinstance(item, Document)] == [
        "hei 0",
        "hei 1",
        "hei 2",
    ]
    for number, (_, state) in enumerate(items):
        assert list(read_source(sources[0], state)) == items[number + 1 :]


MARKS = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.combining(chr(code))]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_normalised_text_is_composed_and_stays(text: str) -> None:
    done = normalised(text)
    assert unicodedata.is_normalized("NFC", done)
    assert "\r" not in done
    assert done == normalised(done) == normalised(unicodedata.normalize("NFD", text))


@given(st.text(st.sampled_from([*MARKS, "\u0f73", "e", "é", "ệ", "각", "ᆨ"]), max_size=80))
def test_long_runs_of_marks_are_composed_as_unicode_says(text: str) -> None:
    long = text + "a" + text * 3 + "".join(MARKS[::7]) + text
    assert normalised(long) == unicodedata.normalize("NFC", long)


def test_any_marks_are_put_in_order_in_linear_time() -> None:
    long = "é" + "\u0301\u0316" * 200_000  # minutes, by `unicodedata`
    start = time.process_time()
    done = normalised(long)
    assert time.process_time() - start < 5
    assert done == "é" + "\u0316" * 200_000 + "\u0301" * 200_000
    assert normalised(done) == done


def test_no_mark_lies_beyond_the_planes_that_are_searched() -> None:
    assert MARKS[-1] < chr(0x20000)
