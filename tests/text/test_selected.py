"""A selection on disk: made again when something changed, without reading the text again."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.text.corpora import changed, contents, quiet, select_again, text, text_of, write_rows
from tongues.files import read_json
from tongues.text import find_sources
from tongues.text import select as selected
from tongues.text.select import write_selection


@pytest.fixture
def file(tmp_path: Path) -> str:
    rows = [text(i, 10 + i) + " 7" * (i % 7) for i in range(120)]
    rows += [changed(text(i, 10 + i), [5]) for i in range(0, 120, 2)]
    return str(write_rows(tmp_path / "de.jsonl", rows))


def test_a_threshold_changes_without_reading_and_as_if_from_scratch(
    tmp_path: Path, file: str
) -> None:
    corpus = tmp_path / "corpus"
    reasons = []
    cleans: list[dict[str, Any]] = [
        {},
        {"characters": "p10"},
        {"characters": 200, "digits": "p90"},
        {"near": 0.8},
        {},
    ]
    for number, clean in enumerate(cleans):
        settings = text_of({"de": file}, clean)
        _, selection, _ = select_again(settings, corpus)
        reasons.append(selection.reason)
        stamps = {path: path.stat().st_mtime_ns for path in corpus.rglob("*.parquet")}
        select_again(settings, corpus)
        assert stamps == {path: path.stat().st_mtime_ns for path in corpus.rglob("*.parquet")}
        select_again(settings, tmp_path / f"scratch{number}")
        assert contents(corpus) == contents(tmp_path / f"scratch{number}")
    parts = [path for path in corpus.rglob("*.parquet") if path.name != "selected.parquet"]
    (oldest,) = parts
    assert oldest.stat().st_mtime_ns < (tmp_path / "scratch0/corpus.json").stat().st_mtime_ns
    assert (reasons[0] == reasons[-1]).all()
    assert len({each.tobytes() for each in reasons}) == 4


def test_what_was_decided_is_read_as_it_was(tmp_path: Path, file: str) -> None:
    settings = text_of({"de": file}, {"characters": "p10", "near": 0.7})
    corpus, selection, _ = select_again(settings, tmp_path / "corpus")
    direct = selected.select(settings, corpus, find_sources(settings))
    for name in ("reason", "cluster", "component"):
        ours, theirs = getattr(selection, name), getattr(direct, name)
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)
    assert selection.thresholds == direct.thresholds


@pytest.mark.parametrize("when", ["select", "summarise", "write_json"])
def test_a_kill_leaves_no_selection_of_other_settings(
    tmp_path: Path, file: str, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    first, other = text_of({"de": file}), text_of({"de": file}, {"characters": "p50"})
    corpus, before, _ = select_again(first, tmp_path / "corpus")

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(selected, when, killed)
        with pytest.raises(KeyboardInterrupt):
            write_selection(other, corpus, find_sources(other), quiet)
    _, after, _ = select_again(first, tmp_path / "corpus")
    assert np.array_equal(before.reason, after.reason)


@pytest.mark.parametrize("name", ["corpus.json", "selected.parquet"])
def test_what_was_removed_is_made_again(tmp_path: Path, file: str, name: str) -> None:
    settings = text_of({"de": file})
    corpus, _, _ = select_again(settings, tmp_path / "corpus")
    before = contents(corpus.path)
    (corpus.path / name).unlink()
    select_again(settings, corpus.path)
    assert contents(corpus.path) == before


def test_the_outcome_is_told_each_time(tmp_path: Path, file: str) -> None:
    with Path(file).open("a") as lines:
        lines.write('{"te')
    settings = text_of({"de": file}, {"near": 0.7, "characters": 150})
    _, selection, told = select_again(settings, tmp_path / "corpus")
    kept = len(selection.kept)
    assert told[0].startswith("de: 180 documents read, ")
    assert f"; {kept} kept (short " in told[0]
    assert "near copy " in told[0]
    assert told[1].startswith("caution: de: 1 place (cut off 1; ")
    assert told[1].endswith(" (unreadable_places)")
    assert select_again(settings, tmp_path / "corpus")[2] == told
    _, _, told = select_again(text_of({"de": file}), tmp_path / "other")
    assert "kept" not in told[0]
    assert read_json(tmp_path / "corpus/corpus.json")["reasons"][0] == "kept"
