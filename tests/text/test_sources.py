"""The text of a recipe: made or from files, and the mistakes found beforehand."""

import json
from pathlib import Path
from typing import Any

import pytest

from tongues.errors import UserError
from tongues.recipe import Text
from tongues.text import (
    Document,
    check_text,
    describe_synthetic,
    find_sources,
    read_source,
    text_bytes,
)


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


@pytest.mark.parametrize(
    ("settings", "where", "says"),
    [
        (files({"german": ["x"]}), "files.german", "not a language tag(?s:.*)`de`?"),
        (files({"Turkish": ["x"]}), "files.Turkish", "not a language tag(?s:.*)`tr`?"),
        (files({"xx": ["x"]}), "files.xx", "not a language tag(?s:.*)BCP-47"),
        (files({"d": ["x"]}), "files.d", "not a language tag(?s:.*)BCP-47"),
        (files({"de/../x": ["x"]}), "files.de/../x", "not a language tag(?s:.*)BCP-47"),
        (files({"de": ["none/*.txt"]}), "files.de", "no file matches"),
        (made({"qab": {"parent": "qaa"}}), "synthetic.languages.qab", "no parent `qaa`"),
        (made({"de": {}}), "synthetic.languages", "`de` is not a tag of a synthetic language"),
    ],
)
def test_what_cannot_be_is_refused_beforehand(settings: Text, where: str, says: str) -> None:
    with pytest.raises(UserError, match=says) as caught:
        check_text(settings)
    assert caught.value.where == f"text.{where}"


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
