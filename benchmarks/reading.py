"""How fast documents are read from each kind of file, beside the bare libraries.

Run as `python benchmarks/reading.py`; `reading.txt` holds what it printed. Megabytes are of the
documents' UTF-8, on one core; the median of five runs with the least and the most. The peers only
parse: they check nothing, name and group nothing, and none but `datasets` can go on where it was.
"""

import os

os.environ |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}

import gzip
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from tongues.recipe import Files, Hub
from tongues.text import Document
from tongues.text.reading import Item, read_file, read_hub

TEXT = Path(__file__).parents[1] / "../shared/data/text/mdn"
SIZE = 40_000_000  # bytes of documents
RUNS = 5


def gather(folder: Path) -> list[dict[str, str]]:
    """Some documents of every language."""
    rows: list[dict[str, str]] = []
    files = sorted(folder.glob("*.jsonl.gz"))
    for path in files:
        left = SIZE // len(files)
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                rows.append(json.loads(line))
                left -= len(rows[-1]["text"].encode())
                if left < 0:
                    break
    return rows


def write_all(folder: Path, rows: list[dict[str, str]]) -> None:
    """The same documents in every kind of file, and in folders laid out as data sets."""
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    for name, content in (
        ("a.jsonl", data),
        ("a.jsonl.gz", gzip.compress(data, 6)),
        ("a.jsonl.zst", zstandard.ZstdCompressor().compress(data)),
        ("a.txt", "\n\n".join(row["text"] for row in rows).encode()),
    ):
        (folder / name).write_bytes(content)
    table = {key: [row[key] for row in rows] for key in ("text", "id", "group")}
    pq.write_table(pa.table(table), folder / "a.parquet")
    for kind in ("jsonl", "parquet"):
        (folder / kind).mkdir()
        (folder / kind / f"train.{kind}").hardlink_to(folder / f"a.{kind}")


def ours(path: Path, documents: str = "files") -> Iterator[Item]:
    """A file as this package reads it."""
    return read_file(path, "und", Files.model_validate({"paths": ["."], "documents": documents}))


def bare_json(opened: Callable[..., Any], path: Path) -> int:
    """Each line parsed."""
    with opened(path) as file:
        return sum(len(json.loads(line)["text"].encode()) for line in file)


def open_zstd(path: Path) -> IO[bytes]:
    """The library's reader, with lines."""
    return BufferedReader(zstandard.open(path, "rb"), 2**20)


def bare_parquet(path: Path) -> int:
    """Each batch made Python strings."""
    batches = pq.ParquetFile(path).iter_batches(columns=["text", "id", "group"], use_threads=False)
    return sum(len(row["text"].encode()) for batch in batches for row in batch.to_pylist())


def bare_datasets(folder: Path) -> int:
    """Each row of the stream."""
    from datasets import load_dataset

    stream = load_dataset(str(folder), split="train", streaming=True)
    return sum(len(row["text"].encode()) for row in stream)


def taken(items: Iterator[Item]) -> int:
    """Bytes of text; there must be no fault."""
    size = 0
    for item, _ in items:
        assert isinstance(item, Document), item
        size += len(item.text.encode())
    return size


def show_speed(name: str, read: Callable[[], int]) -> None:
    """A line with megabytes a second."""
    speeds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        speeds.append(read() / 1e6 / (time.perf_counter() - start))
    low, middle, high = sorted(speeds)[0], sorted(speeds)[RUNS // 2], sorted(speeds)[-1]
    print(f"{name:<42} {middle:6.0f} MB/s   {low:6.0f} –{high:6.0f}", flush=True)


def main(folder: Path) -> None:
    """Write the files and read them in every way."""
    rows = gather(TEXT)
    write_all(folder, rows)
    size = sum(len(row["text"].encode()) for row in rows)
    print(f"{len(rows)} documents, {size / 1e6:.1f} MB, Python {sys.version.split()[0]}\n")
    lines, table = folder / "a.jsonl", folder / "a.parquet"
    packed, frame = folder / "a.jsonl.gz", folder / "a.jsonl.zst"
    show_speed(".jsonl", lambda: taken(ours(lines)))
    show_speed("  json.loads over lines", lambda: bare_json(partial(open, mode="rb"), lines))
    show_speed(".jsonl.gz", lambda: taken(ours(packed)))
    show_speed("  json.loads over gzip.open", lambda: bare_json(gzip.open, packed))
    show_speed(".jsonl.zst", lambda: taken(ours(frame)))
    show_speed("  json.loads over zstandard.open", lambda: bare_json(open_zstd, frame))
    show_speed(".txt, paragraphs", lambda: taken(ours(folder / "a.txt", "paragraphs")))
    show_speed(".parquet", lambda: taken(ours(table)))
    show_speed("  pyarrow, to_pylist", lambda: bare_parquet(table))
    for kind in ("jsonl", "parquet"):
        hub = Hub(dataset=str(folder / kind))
        show_speed(f"data set of {kind}", lambda hub=hub: taken(read_hub(hub, "und")))
        show_speed("  datasets, streaming", lambda kind=kind: bare_datasets(folder / kind))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(made))
