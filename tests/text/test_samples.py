"""Languages that the identifier learns from a user's own clean text."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.text.corpora import contents, quiet, read, select_again, text, text_of, write_rows
from tests.text.real import needs_text, texts
from tests.text.test_select import selected, why
from tongues.core.errors import UserError
from tongues.text import check_text, find_sources, gather
from tongues.text.signals import language, learn_language
from tongues.text.signals.close import taken_for
from tongues.text.summary import read_summary


@pytest.fixture
def without_swahili(monkeypatch: pytest.MonkeyPatch) -> None:
    """py3langid as it would be if it did not know Swahili."""
    model, classes = vars(language)["_byte_model"]()
    prior = np.where(np.array(classes) == "sw", -1e6, model.prior).astype(np.float32)
    monkeypatch.setattr(language, "_byte_model", lambda: (replace(model, prior=prior), classes))


@needs_text
@pytest.mark.usefixtures("without_swahili")
@pytest.mark.parametrize("size", [20_000, 200_000])
def test_a_language_is_learned_from_a_sample(tmp_path: Path, size: int) -> None:
    """Without the sample, only the large languages among the foreign are dropped."""
    sample = "\n".join(texts("ms_beginners", "sw", 60)).encode()[:size].decode(errors="ignore")
    (tmp_path / "clean/bem").mkdir(parents=True)
    (tmp_path / "clean/bem/lessons.txt").write_text(sample)
    good = texts("bible", "sw", 123)
    foreign = [row for lang in ("tr", "vi", "sv") for row in texts("bible", lang, 41)]
    files = {"bem": str(write_rows(tmp_path / "bem.jsonl", [*good, *foreign]))}
    settings = text_of(files, {"language": 0.5, "sample": f"{tmp_path}/clean"})
    corpus, selection = selected(settings, tmp_path)
    fates = why(selection)
    assert fates[:123].count("kept") >= 122
    assert fates[123:].count("other language") >= 120
    lines = select_again(settings, corpus.path)[2]
    assert not any("unknown_language" in line for line in lines)
    about = read_summary(corpus.path)["languages"]["bem"]
    assert about["known"] and about["labels"]["bem"] >= 122


def test_a_sample_changes_only_its_own_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [text(number) for number in range(30)]
    files = {lang: str(write_rows(tmp_path / f"{lang}.jsonl", rows)) for lang in ("de", "wo")}
    read(text_of(files), tmp_path / "corpus")
    before = contents(tmp_path / "corpus/de")
    (tmp_path / "clean").mkdir()
    names: list[str] = []
    source = gather.read_source
    monkeypatch.setattr(gather, "read_source", lambda *of: names.append(of[0].lang) or source(*of))
    for seed in (100, 200):  # another sample, another identifier
        write_rows(tmp_path / "clean/wo.jsonl", [text(number) for number in range(seed, seed + 30)])
        read(text_of(files, {"sample": f"{tmp_path}/clean"}), tmp_path / "corpus")
    assert names == ["wo", "wo"]
    assert contents(tmp_path / "corpus/de") == before


@pytest.mark.parametrize(
    ("name", "content", "more", "says"),
    [
        ("en.txt", "a", {}, "holds no text of a language of the recipe"),
        ("wo.txt", text(1), {"identifier": "lid.bin"}, "by the built-in identifier alone"),
        ("wo.txt", "too little", {}, "too little"),
        ("wo.txt", "12 34 56\n" * 1000, {}, "only 0%"),
    ],
)
def test_wrong_samples_are_refused(
    tmp_path: Path, name: str, content: str, more: dict[str, str], says: str
) -> None:
    files = {"wo": str(write_rows(tmp_path / "text.jsonl", [text(1)]))}
    (tmp_path / "clean").mkdir()
    (tmp_path / "clean" / name).write_text(content)
    settings = text_of(files, {"sample": f"{tmp_path}/clean"}, **more)
    with pytest.raises(UserError, match=says) as error:
        check_text(settings)
        gather.gather(find_sources(settings), quiet, settings, tmp_path / "corpus")
    assert "text.clean.sample" in error.value.where


def test_a_learned_language_does_not_take_others(tmp_path: Path) -> None:
    rows = [text(number, 60, "aeioubdfg") for number in range(60)]
    learned = learn_language("qaa", rows, "x")
    assert learned.name.endswith("x") and learned.knows("qaa") and learned.knows("de")
    said = "The children went to school in the morning and learned to read and to write there."
    assert [each.label for each in learned.identify([text(99, 60, "aeioubdfg"), said])] == [
        "qaa",
        "en",
    ]


@pytest.mark.parametrize(("own", "kept"), [(3, True), (1, False)])
def test_passages_in_a_relative_count_where_some_is_in_the_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: int, kept: bool
) -> None:
    """Norwegian of which the identifier takes most passages for Danish."""
    danish = [text(number, 40) for number in range(8 - own)]
    norwegian = [f"norsk {text(number, 40)}" for number in range(100, 100 + own)]

    def classify(cut: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
        return np.array([b"norsk" not in each for each in cut]).astype(int), np.ones(len(cut))

    identifier = language.Identifier("made", ("no", "da"), classify)
    monkeypatch.setattr(gather, "load_identifier", lambda _: identifier)
    files = {"no": str(write_rows(tmp_path / "no.jsonl", ["\n".join([*danish, *norwegian])]))}
    _, selection = selected(text_of(files, {"language": 0.5}), tmp_path)
    assert why(selection) == ["kept" if kept else "other language"]


def test_markup_is_dropped_or_there_is_a_caution(tmp_path: Path) -> None:
    page = "<p class='x'>%s</p><br/>&nbsp;" * 9
    rows = [text(1), text(2), page % tuple(text(3, 9).split()), "1 < 2 & 3 > 2 " + text(4)]
    files = {"de": str(write_rows(tmp_path / "de.jsonl", rows))}
    for level, fates in ((0.2, ["kept", "kept", "markup", "kept"]), ("off", ["kept"] * 4)):
        settings = text_of(files, {"markup": level})
        _, selection, lines = select_again(settings, tmp_path / "corpus")
        assert why(selection) == fates
        assert any("(markup)" in line for line in lines) == (level == "off")


def test_relatives_that_identification_mixes_up() -> None:
    assert {"da"} <= taken_for("no") and "xh" in taken_for("zu")
    assert not taken_for("de") and not taken_for("qaa")
