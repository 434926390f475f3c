"""Languages that the identifier does not know, pairs that it confuses, thresholds by language."""

from pathlib import Path

import pytest

from tests.text.corpora import select_again, text, text_of, write_rows
from tests.text.real import needs_text, texts
from tests.text.test_select import one_file, selected, why
from tongues import recipe
from tongues.text.signals import counts_as, large_others, load_identifier
from tongues.text.summary import read_summary


@needs_text
def test_other_large_languages_are_dropped_from_an_unknown_one(tmp_path: Path) -> None:
    """Before: 246 of 246 kept. Swahili serves as text of a Bantu language that is not known."""
    assert not load_identifier(None).knows("bem")
    good, foreign = (
        texts("bible", "sw", 123),
        [*texts("bible", "en", 60), *texts("bible", "fr", 63)],
    )
    settings = one_file(tmp_path, [*good, *foreign], "bem", language=0.5)
    corpus, selection = selected(settings, tmp_path)
    fates = why(selection)
    assert fates[:123].count("kept") >= 122
    assert fates[123:].count("other language") >= 120
    _, kept, lines = select_again(settings, corpus.path)
    assert any("(unknown_language)" in line and "de, en, es, fr" in line for line in lines)
    about = read_summary(corpus.path)["languages"]["bem"]
    assert not about["known"] and about["foreign"] == pytest.approx(0, abs=0.01)
    assert len(kept.kept) == fates.count("kept")


def test_relatives_of_large_languages_are_not_taken_for_them() -> None:
    assert "de" not in large_others("gsw") and "en" in large_others("gsw")
    assert "it" not in large_others("fur")
    assert large_others("wo") >= {"en", "fr"}
    assert large_others("qaa") == frozenset()  # nothing is known of it
    assert counts_as("gsw", "de", known=False) and not counts_as("gsw", "ru", known=False)
    assert not counts_as("de", "en", known=True)


def test_a_language_has_thresholds_of_its_own(tmp_path: Path) -> None:
    rows = ["short", text(1), text(2)]
    files = {lang: str(write_rows(tmp_path / f"{lang}.jsonl", rows)) for lang in ("de", "ga")}
    clean = {"characters": 100, "languages": {"ga": {"characters": "off", "digits": 0.4}}}
    settings = text_of(files, clean)
    assert recipe.Text.model_validate(settings.model_dump(mode="json")) == settings
    _, selection = selected(settings, tmp_path)
    assert why(selection) == ["short", "kept", "kept", "kept", "kept", "kept"]
    assert selection.thresholds == {"de": {"characters": 100}, "ga": {"digits": 0.4}}


@pytest.mark.parametrize(
    ("languages", "says"),
    [
        ({"ga": {"digit": 0.2}}, "unknown key `digit`"),
        ({"ga": {"near": "off"}}, "the same for all languages"),
        ({"ga": "off"}, "is a map from tags"),
        ({"ga": {"digits": "many"}}, "not a percentile"),
    ],
)
def test_wrong_thresholds_of_a_language_are_refused(languages: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        text_of({"de": "x.txt"}, {"languages": languages})


def test_length_alone_drops_nothing(tmp_path: Path) -> None:
    """Before: the longest documents went first, as `repetition` grew with length."""
    rows = [text(seed, 60 + 150 * (seed % 50)) for seed in range(150)]
    clean = {"repetition": "on", "repeated_lines": "on", "symbols": "on", "digits": "on"}
    _, selection = selected(one_file(tmp_path, rows, **clean), tmp_path)
    assert set(why(selection)) == {"kept"}
