"""The text of a recipe: made or from files, and the mistakes found beforehand."""

from pathlib import Path
from typing import Any

import pytest

from tongues.errors import UserError
from tongues.recipe import Text
from tongues.text import check_text, describe_made, open_text, text_files


def made(languages: dict[str, Any], size: str = "20 kB") -> Text:
    return Text.model_validate({"made": {"size": size, "languages": languages}})


def files(languages: dict[str, list[str]]) -> Text:
    return Text.model_validate({"files": languages})


def test_a_made_language_fills_its_size_and_no_more() -> None:
    settings = made({"qaa": {}, "qab": {"mother": "qaa", "distance": 0.3}})
    for lang in settings.languages:
        documents = list(open_text(settings, lang))
        size = sum(len(d.text.encode()) for d in documents)
        assert 17_000 < size <= 20_000
        assert {d.lang for d in documents} == {lang}
        assert documents == list(open_text(settings, lang))
    assert len(list(open_text(made({"qaa": {}}, "1 B"), "qaa"))) == 1


def test_more_text_begins_with_less() -> None:
    less = list(open_text(made({"qaa": {}}), "qaa"))
    more = list(open_text(made({"qaa": {}}, "50 kB"), "qaa"))
    assert more[: len(less)] == less
    assert len(more) > len(less)


def test_made_languages_tell_different_documents() -> None:
    settings = made({"qaa": {}, "qab": {"mother": "qaa", "distance": 0.3}})
    mother, daughter = ({d.group for d in open_text(settings, tag)} for tag in ("qaa", "qab"))
    assert mother
    assert mother.isdisjoint(daughter)


def test_a_language_from_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hei")
    settings = files({"no": [f"{tmp_path}/*.txt"]})
    check_text(settings)
    assert [(d.lang, d.text) for d in open_text(settings, "no")] == [("no", "hei")]
    assert text_files(settings) == {"no": [tmp_path / "a.txt"]}


@pytest.mark.parametrize("tag", ["german", "xx", "d", "de/../x"])
def test_an_invalid_tag_is_refused(tmp_path: Path, tag: str) -> None:
    with pytest.raises(UserError, match="no language tag"):
        check_text(files({tag: [str(tmp_path)]}))


@pytest.mark.parametrize(
    ("languages", "says"),
    [
        ({"qab": {"mother": "qaa", "distance": 0.1}, "qac": {}}, "no mother `qaa`"),
        ({"de": {}}, "`de` is no tag for a made language"),
        ({"qaa": {"mother": "qab"}, "qab": {"mother": "qaa"}}, "descend from themselves"),
    ],
)
def test_impossible_families_are_refused(languages: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says) as error:
        check_text(made(languages))
    assert error.value.where.startswith("text.made.languages")


def test_missing_files_are_found_beforehand(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no file matches") as error:
        check_text(files({"de": [f"{tmp_path}/*.txt"]}))
    assert error.value.where == "text.files.de"


def test_relatedness_is_told_in_numbers() -> None:
    daughters = {
        tag: {"mother": "qaa", "distance": distance}
        for tag, distance in (("qab", 0.0), ("qac", 0.2), ("qad", 0.5))
    }
    settings = made({"qaa": {}, **daughters}).made
    assert settings
    same, near, far = describe_made(settings)
    assert shares(same) == 100
    assert "`qac` drifted from `qaa` by 0.2" in near
    assert shares(near) > shares(far) > 0


def shares(sentence: str) -> int:
    return int(sentence.split("shares ")[1].split("%")[0])
