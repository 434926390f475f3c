"""Reading into a corpus: what is on disk, what a stop leaves, and when it is read again."""

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.text.corpora import USUAL, contents, quiet, read, text, text_of, write_rows
from tongues import recipe
from tongues.core.files import read_lines
from tongues.text import TextSource, find_sources, gather, read_source
from tongues.text.reading import Item, State


class Stop(BaseException):
    """What stops a process in the middle."""


def stopping(after: int) -> Any:
    """`read_source` that stops everything behind so many items."""
    left = iter(range(after))

    def opened(source: TextSource, start: State | None = None) -> Iterator[Item]:
        for item in read_source(source, start):
            if next(left, None) is None:
                raise Stop
            yield item

    return opened


def rows_with_faults(folder: Path, limit: str | None) -> recipe.Text:
    rows = [{"text": text(i, 20), "id": i} if i % 5 else {"no": i} for i in range(40)]
    write_rows(folder / "a.jsonl", rows)
    (folder / "b.jsonl.gz").write_bytes(gzip.compress((folder / "a.jsonl").read_bytes())[:-300])
    return text_of({"de": {"paths": [f"{folder}/*.jsonl*"], "limit": limit}})


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "_PART_DOCUMENTS", 7)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("at_most", [None, "14 documents", "15 documents", "2 kB"])
def test_stopped_anywhere_it_ends_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_most: str | None
) -> None:
    settings = rows_with_faults(tmp_path, at_most)
    alone = contents(read(settings, tmp_path / "alone/corpus").path)
    with monkeypatch.context() as patch:
        for after in (1, 3, 6, 8, 9, 11, 15, 16, 17, 18, 20, 25, 31):
            patch.setattr(gather, "read_source", stopping(after))
            try:
                read(settings, tmp_path / f"stopped{after % 2}/corpus")
            except Stop:
                continue
    for workspace in ("stopped0", "stopped1"):
        assert contents(read(settings, tmp_path / workspace / "corpus").path) == alone


def stopping_at(function: Any, calls: int, before: bool) -> Any:
    """A function that stops everything before or after its call of this number."""
    left = iter(range(calls))

    def stopped(*given: Any) -> None:
        last = next(left, None) is None
        if not (last and before):
            function(*given)
        if last:
            raise Stop

    return stopped


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("name", ["write_json", "write_part"])
@pytest.mark.parametrize("before", [True, False])
def test_a_stop_while_a_mark_is_written_leaves_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, before: bool
) -> None:
    settings = rows_with_faults(tmp_path, "14 documents")
    alone = contents(read(settings, tmp_path / "alone/corpus").path)
    calls = 0
    for calls in range(12):
        corpus = tmp_path / f"stopped{calls}/corpus"
        with monkeypatch.context() as patch, suppress(Stop):
            patch.setattr(gather, name, stopping_at(getattr(gather, name), calls, before))
            read(settings, corpus)
            break  # it has fewer calls
        assert contents(read(settings, corpus).path) == alone
    assert calls >= 3


def test_faults_of_every_format_are_counted_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tongues.text.sources._CUT", 1 << 300)  # no cut by a path's hash
    good = [text(i, 30) for i in range(4)]
    lines = [json.dumps({"text": line}) for line in good]
    bad = [
        b'{"text": "half',
        b"\xff\xfe\x80",
        b'{"text": 7}',
        b'{"text": "  "}',
        b'{"text": "\\ud800"}',
    ]
    damaged = b"\n".join([lines[0].encode(), *bad, lines[1].encode()]) + b"\n"
    (tmp_path / "a.jsonl").write_bytes(damaged)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(damaged * 50)[:-20])
    (tmp_path / "c.txt").write_bytes(b"\xff\xff")
    (tmp_path / "d.txt").write_text("")
    pq.write_table(pa.table({"text": [good[2], None, "", good[3]]}), tmp_path / "e.parquet")
    (tmp_path / "f.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "g.jsonl").write_bytes(lines[0].encode() + b"\n" + lines[1].encode()[:20])
    corpus = read(text_of({"de": str(tmp_path)}), tmp_path / "corpus")
    by_name = {Path(mark["title"]).name: mark for mark in corpus.sources}
    assert {name: mark["documents"] for name, mark in by_name.items()} == {
        "a.jsonl": 2, "b.jsonl.gz": by_name["b.jsonl.gz"]["documents"], "c.txt and 1 more": 0,
        "e.parquet": 2, "f.parquet": 0, "g.jsonl": 1,
    }  # fmt: skip
    assert by_name["b.jsonl.gz"]["documents"] >= 90
    assert by_name["a.jsonl"]["faults"] == {
        "not JSON": 1, "bad encoding": 2, "no text": 1, "empty": 1
    }  # fmt: skip
    assert by_name["b.jsonl.gz"]["faults"]["archive cut off"] == 1
    assert by_name["c.txt and 1 more"]["faults"] == {"bad encoding": 1, "empty": 1}
    assert sum(by_name["e.parquet"]["faults"].values()) == 2
    assert sum(by_name["f.parquet"]["faults"].values()) == 1
    assert by_name["g.jsonl"]["faults"] == {"cut off": 1}
    for mark in corpus.sources:
        rows = read_lines(corpus.path / "de" / mark["name"] / "faults.jsonl")
        assert len(rows) == sum(mark["faults"].values())
        assert all(
            mark["title"].startswith(row["source"]) or row["source"].endswith("d.txt")
            for row in rows
        )
    shown = read_lines(corpus.path / "de" / by_name["a.jsonl"]["name"] / "faults.jsonl")
    assert [row["place"] for row in shown] == [damaged.index(line) for line in bad]


def test_more_faults_than_are_written_down_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "_FAULTS", 3)
    write_rows(tmp_path / "a.jsonl", [{"no": 1}] * 10 + [text(1)])
    (mark,) = read(text_of({"de": f"{tmp_path}/a.jsonl"}), tmp_path / "corpus").sources
    assert mark["faults"] == {"no text": 10}
    assert len(read_lines(tmp_path / "corpus/de" / mark["name"] / "faults.jsonl")) == 3


def test_what_was_read_is_read_again_only_when_it_changed(tmp_path: Path) -> None:
    for name in "ab":
        write_rows(tmp_path / f"{name}.jsonl", [text(ord(name))])
    settings = text_of({"de": [f"{tmp_path}/a.jsonl", f"{tmp_path}/b.jsonl"]})
    corpus = tmp_path / "corpus"

    def stamps() -> dict[str, int]:
        return {str(path): path.stat().st_mtime_ns for path in corpus.rglob("*.parquet")}

    read(settings, corpus)
    before = stamps()
    read(settings, corpus)
    read(text_of({"de": settings.files["de"].paths}, USUAL), corpus)
    assert stamps() == before
    write_rows(tmp_path / "b.jsonl", [text(3), text(4)])
    assert read(settings, corpus).count == 3
    assert sum(stamps()[path] == before[path] for path in before) == 1
    named = text_of({"de": [f"{tmp_path}/a.jsonl"]}, benchmarks=[f"{tmp_path}/b.jsonl"])
    read(named, corpus)
    assert all(stamps()[path] != before[path] for path in before)


def test_files_of_one_name_are_sources_of_their_own(tmp_path: Path) -> None:
    for number in range(3):
        write_rows(tmp_path / str(number) / "text.jsonl", [text(number)])
    write_rows(tmp_path / "long" / ("ä" * 124 + ".jsonl"), [text(9)])
    settings = text_of({"de": [str(tmp_path)]})
    assert len({source.name for source in find_sources(settings)}) == 4
    assert read(settings, tmp_path / "corpus").count == 4


def test_reading_stops_at_the_most_that_is_wanted(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.jsonl", [text(i, 20) for i in range(50)])
    for most, documents in (("7 documents", 7), ("1 kB", 8), ("100 tokens", 50)):
        files = {"paths": [f"{tmp_path}/a.jsonl"], "limit": most}
        corpus = read(text_of({"de": files}), tmp_path / most.replace(" ", ""))
        (mark,) = corpus.sources
        assert mark["documents"] == corpus.count == documents
        assert mark["capped"] == (documents < 50)


def test_memory_does_not_grow_with_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "_PART_BYTES", 50_000)
    peaks = []
    for size in (300, 1500):
        write_rows(tmp_path / f"{size}.jsonl", [text(i, 80) for i in range(size)])
        settings = text_of({"de": f"{tmp_path}/{size}.jsonl"})
        tracemalloc.start()
        gather.gather(find_sources(settings), quiet, settings, tmp_path / f"corpus{size}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]  # of five times the text


def test_progress_is_shown_soon_and_over_all_sources(tmp_path: Path) -> None:
    rows = [text(seed, 3000) for seed in range(60)]
    files = {lang: str(write_rows(tmp_path / f"{lang}.jsonl", rows)) for lang in ("de", "sw")}
    lines: list[str] = []
    settings = text_of(files)
    gather.gather(find_sources(settings), lines.append, settings, tmp_path / "corpus")
    assert len(lines) == 1 and "sw.jsonl: " in lines[0] and " read, " in lines[0]
    gather.gather(find_sources(settings), lines.append, settings, tmp_path / "corpus")
    assert len(lines) == 1  # of what was read before nothing is told
