"""Documents in close relatives, and in any language in one that the identifier does not know."""

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.golden import inputs
from tests.text.corpora import select_again, text_of, write_rows
from tests.text.real import declaration
from tests.text.test_select import why

PLANTED: dict[str, dict[str, int]] = inputs("planted-relatives")


def passages(lang: str, count: int) -> list[str]:
    """Documents of six paragraphs, at random from the declaration."""
    rng = random.Random(lang)
    whole = max((text for tag, text in declaration() if tag == lang), key=len)
    lines = [line for line in whole.split("\n") if len(line) > 20]
    return ["\n".join(rng.sample(lines, 6)) for _ in range(count)]


@pytest.mark.parametrize("lang", PLANTED)
def test_what_is_unlike_the_rest_is_dropped_and_good_text_is_kept(
    tmp_path: Path, lang: str
) -> None:
    good = passages(lang, 120)
    others = {other: passages(other, 60) for other in PLANTED[lang]}
    rows = good + [text for texts in others.values() for text in texts]
    files = {lang: str(write_rows(tmp_path / "a.jsonl", rows))}
    settings = text_of(files, {"siblings": 0.03})
    _, selection, lines = select_again(settings, tmp_path / "corpus")
    fates = why(selection)
    assert Counter(fates[:120])["unlike the rest"] <= 2
    for number, other in enumerate(others):
        found = Counter(fates[120 + 60 * number :][:60])["unlike the rest"]
        assert found >= PLANTED[lang][other], other
    assert any("(unknown_language)" in x for x in lines) == (lang in ("tn", "ts", "mi"))


def test_relatives_that_are_confused_are_kept_and_named(tmp_path: Path) -> None:
    files = {"ms": str(write_rows(tmp_path / "a.jsonl", passages("id", 60)))}
    _, selection, lines = select_again(text_of(files, {"siblings": 0.03}), tmp_path / "corpus")
    assert "unlike the rest" not in why(selection)
    (line,) = (line for line in lines if "(siblings)" in line)
    assert line.startswith("caution: ms: the kept text is identified as ms ") and ", id " in line
    assert "`text.clean: {languages: {ms: {siblings: 1}}}` drops what" in line
    _, selection, lines = select_again(text_of(files, {"siblings": 1.0}), tmp_path / "corpus")
    assert Counter(why(selection))["unlike the rest"] >= 1
