"""A part of a piece on disk: some thousand documents in one Parquet file, text and signals."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tongues.errors import UserError
from tongues.files import whole_file
from tongues.text.document import Document, hash64
from tongues.text.signals import (
    BANDS,
    SIGNATURE,
    Benchmarks,
    Identifier,
    character_signals,
    near_signals,
    same_language,
    units,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "SIGNALS",
    "column",
    "part_path",
    "read_columns",
    "signals_of",
    "write_part",
]

_BATCH = 1_000_000  # characters whose signals are taken together

# What is stored of each document as a number, in its order in the file.
SIGNALS = {
    "bytes": "uint32",
    "exact": "uint64",
    "group_hash": "uint64",
    "characters": "uint32",
    "lines": "uint32",
    "line_length": "float32",
    "repeated_lines": "float32",
    "letters": "float32",
    "digits": "float32",
    "symbols": "float32",
    "script_share": "float32",
    "language_share": "float32",
    "language_score": "float32",
    "repetition": "float32",
    "benchmark": "uint32",
}


def signals_of(
    documents: Sequence[Document], identifier: Identifier, benchmarks: Benchmarks
) -> "pa.Table":
    """The table of some documents, all of one language: their text and every signal of it."""
    import pyarrow as pa

    tables = [_table(batch, identifier, benchmarks) for batch in _batches(documents)]
    return pa.concat_tables(tables).combine_chunks()


def write_part(path: Path, table: "pa.Table") -> None:
    """Write a part, whole or not at all."""
    import pyarrow.parquet as pq

    few = ["group", "script", "label"]  # different words; hashes would find no use for a dictionary
    with whole_file(path) as aside:
        options = {"compression": "zstd", "use_dictionary": few, "write_statistics": False}
        with pq.ParquetWriter(aside, table.schema, **options) as writer:
            writer.write_table(table)


def part_path(folder: Path, number: int) -> Path:
    """The file of a piece's part."""
    return folder / f"{number:05}.parquet"


def read_columns(path: Path, columns: Sequence[str]) -> "pa.Table":
    """Some columns of a part; a UserError when it is gone or damaged."""
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path).read(list(columns), use_threads=False)
    except (OSError, ValueError) as error:
        hint = f"remove `{path.parent}`: it is read again"
        raise UserError(f"cannot be read ({error})", where=str(path), hint=hint) from None


def column(table: "pa.Table", name: str) -> np.ndarray:
    """A column of numbers."""
    return table[name].to_numpy()


def _table(
    documents: Sequence[Document], identifier: Identifier, benchmarks: Benchmarks
) -> "pa.Table":
    import pyarrow as pa

    texts = [document.text for document in documents]
    lang = documents[0].lang
    known = identifier.knows(lang)
    found = identifier.identify(texts)
    words = units(texts)
    near = near_signals(words)
    signals: dict[str, Any] = character_signals(texts)
    signals |= {
        "bytes": [len(text.encode()) for text in texts],
        "exact": np.array([hash64(text) for text in texts], dtype=np.uint64),
        "group_hash": np.array([hash64(d.group) for d in documents], dtype=np.uint64),
        "language_share": [
            sum(share for label, share in each.shares.items() if same_language(lang, label))
            if known
            else np.nan
            for each in found
        ],
        "language_score": [each.score for each in found],
        "repetition": near.repetition,
        "benchmark": benchmarks.hits(words),
    }
    columns: dict[str, Any] = {
        "id": pa.array([document.id for document in documents]),
        "group": pa.array([document.group for document in documents]),
        "text": pa.array(texts),
        "script": pa.array(signals["script"].tolist()),
        "label": pa.array([each.label for each in found]),
        "labels": pa.array([list(each.shares) for each in found], pa.list_(pa.string())),
        "shares": pa.array([list(each.shares.values()) for each in found], pa.list_(pa.float32())),
    }
    for name, kind in SIGNALS.items():
        columns[name] = pa.array(np.asarray(signals[name]).astype(kind))
    data = pa.py_buffer(np.ascontiguousarray(near.signature))
    kind = pa.binary(SIGNATURE * near.signature.itemsize)
    columns["signature"] = pa.Array.from_buffers(kind, len(texts), [None, data])
    for number in range(BANDS):
        columns[f"band_{number:02}"] = pa.array(np.ascontiguousarray(near.bands[:, number]))
    return pa.table(columns)


def _batches(documents: Sequence[Document]) -> Iterator[Sequence[Document]]:
    """Documents in runs of about `_BATCH` characters."""
    start, size = 0, 0
    for number, document in enumerate(documents):
        size += len(document.text)
        if size >= _BATCH:
            yield documents[start : number + 1]
            start, size = number + 1, 0
    if start < len(documents):
        yield documents[start:]
