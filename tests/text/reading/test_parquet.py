"""Documents from Parquet files: columns, damage, and going on after any row."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.text.reading.test_files import check_goes_on_anywhere, found, items
from tongues.core.files import fingerprint
from tongues.recipe import Columns, Files
from tongues.text import Document
from tongues.text.reading import LONGEST, Fault


def write(path: Path, columns: dict[str, Any], **settings: Any) -> Path:
    pq.write_table(pa.table(columns), path, **settings)
    return path


def test_a_row_is_a_document(tmp_path: Path) -> None:
    columns = {"text": ["eins", "zwei"], "id": [1, None], "group": ["g", None], "x": [[1], [2]]}
    path = write(tmp_path / "a.parquet", columns)
    assert [item for item, _ in items(path)] == [
        Document("1", "de", "eins", "g", str(path)),
        Document(f"{path}:2", "de", "zwei", fingerprint("zwei"), str(path)),
    ]


@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "dictionary"])
def test_text_may_be_stored_in_any_way(tmp_path: Path, kind: str) -> None:
    text = pa.array(["grüße", "b"], pa.string())
    text = text.dictionary_encode() if kind == "dictionary" else text.cast(kind)
    path = write(tmp_path / "a.parquet", {"content": text, "book": [7, 7]})
    settings = Files(paths=["."], columns=Columns(text="content", group="book"))
    read = [item for item, _ in items(path, settings) if isinstance(item, Document)]
    assert [(item.text, item.group) for item in read] == [("grüße", "7"), ("b", "7")]


def test_rows_that_are_no_documents_are_faults(tmp_path: Path) -> None:
    texts = [b"eins", b"f\xfcnf", None, b"", b"x" * (LONGEST + 1), b"a\0b", b"drei"]
    broken = pa.array(texts, pa.binary()).view(pa.string())
    path = write(tmp_path / "a.parquet", {"text": broken})
    reasons = ("bad encoding", "no text", "empty", "too long", "NUL bytes")
    assert found(path) == ["eins", *(f"! {reason}" for reason in reasons), "drei"]
    read = [item for item, _ in items(path)]
    assert [item.place for item in read if isinstance(item, Fault)] == [1, 2, 3, 4, 5]


def test_reading_goes_on_after_any_row(tmp_path: Path) -> None:
    texts = [f"Text {n}" if n % 7 else "" for n in range(250)]
    path = write(tmp_path / "a.parquet", {"text": texts}, row_group_size=60)
    assert found(path) == [text or "! empty" for text in texts]
    check_goes_on_anywhere(path)


def test_damage_costs_no_more_than_its_row_group(tmp_path: Path) -> None:
    texts = [f"Text {n * n}" for n in range(3000)]
    path = write(tmp_path / "a.parquet", {"text": texts}, row_group_size=1000)
    data = bytearray(path.read_bytes())
    middle = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    data[middle : middle + 400] = bytes(400)
    path.write_bytes(data)
    whole = items(path)
    others = [*texts[:1000], *texts[2000:]]
    assert [text for text in found(path) if text in set(others)] == others
    faults = [item for item, _ in whole if isinstance(item, Fault)]
    assert [(item.reason, item.place) for item in faults] == [("damaged", 1000)]
    for number in (999, 1000, 1001, 1002):
        assert items(path, start=whole[number - 1][1]) == whole[number:]


@pytest.mark.parametrize("kept", [0, 3, 100, -5])
def test_what_is_no_parquet_is_a_fault(tmp_path: Path, kept: int) -> None:
    path = write(tmp_path / "a.parquet", {"text": ["eins"] * 100})
    path.write_bytes(path.read_bytes()[:kept])
    [(fault, state)] = items(path)
    assert isinstance(fault, Fault) and fault.reason == "damaged" and fault.sample
    assert items(path, start=state) == []
