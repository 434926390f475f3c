"""A part of a piece on disk: some thousand documents in one Parquet file, text and signals."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tongues.errors import UserError
from tongues.files import whole_file
from tongues.text.document import Document
from tongues.text.signals import Batch, Benchmarks, Identifier, Signal

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["column", "part_path", "read_columns", "table_of", "write_part"]

_BATCH = 1_000_000  # characters whose signals are taken together


def table_of(
    documents: Sequence[Document],
    identifier: Identifier,
    benchmarks: Benchmarks,
    signals: Sequence[Signal],
) -> "pa.Table":
    """The table of some documents, all of one language: their text and every signal of it."""
    import pyarrow as pa

    tables = [_table(Batch(few, identifier, benchmarks), signals) for few in _batches(documents)]
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


def _table(batch: Batch, signals: Sequence[Signal]) -> "pa.Table":
    import pyarrow as pa

    found = batch.languages
    columns: dict[str, Any] = {
        "id": pa.array([document.id for document in batch.documents]),
        "group": pa.array([document.group for document in batch.documents]),
        "text": pa.array(batch.texts),
        "script": pa.array(batch.characters["script"].tolist()),
        "label": pa.array([each.label for each in found]),
        "labels": pa.array([list(each.shares) for each in found], pa.list_(pa.string())),
        "shares": pa.array([list(each.shares.values()) for each in found], pa.list_(pa.float32())),
    }
    for signal in signals:
        columns |= signal.columns(batch)
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
