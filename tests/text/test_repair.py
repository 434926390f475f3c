"""Text that was read as another encoding is as it was before; clean text stays the same."""

from pathlib import Path

import pytest

from tests.text.corpora import read, select_again, text_of, write_rows
from tests.text.real import declaration
from tongues.core import extras
from tongues.core.errors import UserError
from tongues.text.repair import repaired

pytest.importorskip("ftfy")
OTHER = ("sloppy-windows-1252", "latin-1")  # of ftfy: all bytes have a character


def test_garbled_text_is_restored_and_clean_text_is_untouched() -> None:
    texts = dict(declaration())
    assert [lang for lang, text in texts.items() if repaired(text) != text] == []
    for encoding in OTHER:
        for lang in ("yo", "vi", "ar", "am", "hi"):
            assert repaired(texts[lang].encode().decode(encoding)) == texts[lang]


def test_the_number_of_repaired_documents_is_said_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    yoruba = dict(declaration())["yo"]
    good = [yoruba[n : n + 300] for n in range(0, 200, 50)]
    bad = [each.encode().decode(OTHER[0]) for each in good[:3]]
    files = {"yo": str(write_rows(tmp_path / "yo.jsonl", [*bad, *good[3:]]))}
    settings = text_of(files, {"mojibake": 0.5}, repair=True)
    corpus, selection, lines = select_again(settings, tmp_path / "a")
    assert corpus.chosen_texts(selection.kept) == good
    assert corpus.sources[0]["repaired"] == 3
    assert lines[1] == "yo: 3 documents were repaired: they were UTF-8 read as another encoding"
    _, selection, lines = select_again(text_of(files, {"mojibake": 0.5}), tmp_path / "a")
    assert len(selection.kept) == 1 and "`text.repair: true`" in lines[-1]
    monkeypatch.setitem(extras.EXTRAS, "ftfy", extras.Extra("repair", "no_ftfy", ""))
    with pytest.raises(UserError, match="`ftfy` is not installed") as caught:
        read(settings, tmp_path / "b")
    assert caught.value.hint == "pip install 'tongues[repair]'"
