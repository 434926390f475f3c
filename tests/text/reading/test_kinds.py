"""Files of other kinds, archives and encodings; and what is passed over, with its bytes."""

import bz2
import gzip
import json
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.text.corpora import select_again, text_of
from tests.text.reading.test_files import check_goes_on_anywhere, items
from tongues.core.errors import UserError
from tongues.core.quantities import show_bytes
from tongues.recipe import Files
from tongues.text import Document
from tongues.text.reading import Fault, find_files, passed_over
from tongues.text.select import nothing_kept
from tongues.text.summary import read_summary

UKRAINIAN = "Ріка була широка й повільна, а старий, що жив на її березі, знав кожен човен."


def read(path: Path, **settings: Any) -> list[Document | Fault]:
    """All items, the same from whichever state reading resumes."""
    files = Files.model_validate({"paths": [str(path)], **settings})
    check_goes_on_anywhere(path, files)
    return [item for item, _ in items(path, files)]


def texts(path: Path, **settings: Any) -> list[str]:
    every = read(path, **settings)
    assert all(isinstance(item, Document) for item in every), every
    return [item.text for item in every if isinstance(item, Document)]


@pytest.mark.parametrize(
    ("ending", "pack"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("BZ2", bz2.compress)],
)
def test_archives_are_unpacked(tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"a.JSONL.{ending}"
    rows = [json.dumps({"text": f"{UKRAINIAN} {n}"}).encode() for n in range(60)]
    half = pack(b"\n".join(rows[:20]) + b"\n"), pack(b"\n".join(rows[20:]))
    path.write_bytes(b"".join(half))  # two members
    assert len(texts(path)) == 60
    path.write_bytes(half[0] + half[1][: len(half[1]) // 2])
    last = read(path)[-1]
    assert isinstance(last, Fault) and last.reason in ("archive cut off", "cut off")
    path.write_bytes(b"nothing of the kind")
    (only,) = read(path)
    assert isinstance(only, Fault) and only.reason == "archive damaged" and only.size == 19


def test_tables_of_the_standard_library(tmp_path: Path) -> None:
    rows = [{"text": "eins, zwei\nund drei", "id": "a"}, {"text": 'ein "Wort"', "id": "b"}]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (tmp_path / "b.json").write_text(json.dumps({"info": 1, "data": rows}))
    quoted = 'id,text\na,"eins, zwei\nund drei"\nb,"ein ""Wort"""\n'
    (tmp_path / "c.csv").write_text(quoted)
    (tmp_path / "d.CSV").write_text('\ufeffid;text\r\na;"eins, zwei\nund drei"\r\nb;ein "Wort"\r\n')
    (tmp_path / "e.tsv").write_text('id\ttext\na\t"eins, zwei\nund drei"\nb\tein "Wort"\n')
    for path in sorted(tmp_path.iterdir()):
        assert texts(path) == [row["text"] for row in rows], path
        assert [item.id for item in read(path) if isinstance(item, Document)] == ["a", "b"]
    (tmp_path / "f.csv").write_text("a,b\n1,2\n")
    (tmp_path / "f.json").write_text('[{"a": "1", "b": 2}]')
    (tmp_path / "f.jsonl").write_text('{"a": "1", "b": 2}\n')
    pq.write_table(pa.table({"a": ["1"], "b": [2]}), tmp_path / "f.parquet")
    for path in sorted(tmp_path.glob("f.*")):
        (fault,) = read(path)
        assert isinstance(fault, Fault) and fault.reason == "no text"
        assert fault.sample == "there is no column `text`; the columns are `a`, `b`", path


def test_odd_quotation_marks_hold_no_rows_together(tmp_path: Path) -> None:
    """Before: two documents with tabs in them, and no fault."""
    said = ['"Habari, alisema.', "pili", 'tatu "nne" tano', '"tano', "sita", '"Ndiyo" tu', '"saba"']
    (tmp_path / "a.tsv").write_text(
        "id\ttext\n" + "".join(f"{n}\t{one}\n" for n, one in enumerate(said))
    )
    assert texts(tmp_path / "a.tsv") == [*said[:-1], "saba"]
    (tmp_path / "b.tsv").write_text('text\tid\n"Habari\ta\nalisema."\tb\n')
    assert texts(tmp_path / "b.tsv") == ['"Habari', 'alisema."']


def test_a_damaged_row_between_commas_costs_no_other(tmp_path: Path) -> None:
    rows = ['1,"Habari, alisema.', "2,pili", '3,"Ndiyo" tu', '4,"eins,', 'zwei"', '5,"sita']
    (tmp_path / "a.csv").write_text("id,text\n" + "\n".join(rows))
    fault, *documents = read(tmp_path / "a.csv")
    assert isinstance(fault, Fault) and (fault.reason, fault.place) == ("damaged", 0)
    assert fault.sample.startswith(rows[0]) and fault.size == len(rows[0]) + 1
    found = [item.text for item in documents if isinstance(item, Document)]
    assert found == ["pili", '"Ndiyo" tu', "eins,\nzwei", '"sita']
    (tmp_path / "b.csv").write_bytes(b'text\n"eins\nzwei\n\xff\n')  # a quotation mark before damage
    *documents, fault = read(tmp_path / "b.csv")
    assert [item.text for item in documents if isinstance(item, Document)] == ['"eins', "zwei"]
    assert isinstance(fault, Fault) and fault.reason == "bad encoding"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv"])
def test_byte_order_marks_are_honoured(tmp_path: Path, encoding: str, name: str) -> None:
    rows = [f"{UKRAINIAN} {n}" for n in range(3)]
    content = {"txt": rows[0], "csv": "text\n" + "".join(f'"{row}"\n' for row in rows)}
    content["jsonl"] = "\n".join(json.dumps({"text": row}, ensure_ascii=False) for row in rows)
    (tmp_path / name).write_text(content[name[2:]], encoding=encoding)
    assert texts(tmp_path / name) == rows[: 1 if name == "a.txt" else 3]


def test_an_encoding_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(UKRAINIAN * 20, encoding="cp1251")
    assert texts(path, encoding="cp1251") == [UKRAINIAN * 20]
    (fault,) = read(path)
    assert isinstance(fault, Fault) and fault.reason == "bad encoding"
    assert fault.size == path.stat().st_size
    with pytest.raises(ValueError, match="is not an encoding"):
        Files.model_validate({"paths": ["x"], "encoding": "klingon"})


def test_what_is_passed_over_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: 13 documents read, exit status 0, and none of ten files named."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x/sub").mkdir(parents=True)
    for name in ("a.TXT", "README.md", "b.pdf", "c.PDF", "sub/d.doc", ".e", "notes.md"):
        (tmp_path / "x" / name).write_text("four")
    (tmp_path / "x/loop").symlink_to("..")
    (tmp_path / "x/gone.txt").symlink_to("nowhere")
    os.mkfifo(tmp_path / "x/pipe.txt")
    assert [path.name for path in find_files(["x"], "text.files.de")] == ["a.TXT", "notes.md"]
    kinds = passed_over(["x"], "text.files.de")
    assert kinds[".pdf"] == {"files": 2, "bytes": 8} and kinds[".doc"]["files"] == 1
    others = {"README", "hidden", "linked folder", "dead link", "device or pipe"}
    assert set(kinds) == {".pdf", ".doc", *others}
    with pytest.raises(UserError, match="is not a text file"):
        find_files(["x/pipe.txt"], "text.files.de")


def test_losses_are_in_the_summary_with_what_helps(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/a.txt").write_text(UKRAINIAN * 40, encoding="cp1251")
    (tmp_path / "x/b.txt").write_text(UKRAINIAN)
    (tmp_path / "x/c.pdf").write_text("12345")
    corpus, _, lines = select_again(text_of({"uk": str(tmp_path / "x")}), tmp_path / "corpus")
    about = read_summary(corpus.path)["languages"]["uk"]
    size = (tmp_path / "x/a.txt").stat().st_size
    assert sum(source["lost"].get("bad encoding", 0) for source in about["sources"]) == size
    assert about["passed_over"] == {".pdf": {"files": 1, "bytes": 5}}
    printed = "\n".join(lines)
    assert "1 file passed over (.pdf 1, 5 B) (passed_over)" in printed
    assert f"(bad encoding 1; {show_bytes(size)}) could not be read" in printed
    assert "`text.files.uk.encoding` names another encoding" in printed


def test_long_plain_text_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ein Satz ist das.\n" * 600_000)
    corpus, _, lines = select_again(text_of({"de": str(tmp_path)}), tmp_path / "corpus")
    advice = "`text.files.de.documents: paragraphs` makes documents of parts"
    assert advice in str(nothing_kept(corpus)["de"])
    assert sum(advice in line for line in lines) == 1
