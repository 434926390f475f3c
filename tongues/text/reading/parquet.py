"""Documents from Parquet files, a few megabytes at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tongues.text.reading.files import ENDED, TextFile
from tongues.text.reading.origin import Broken, Item, State
from tongues.text.reading.streams import size_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


_BATCH = 4_000_000  # bytes, about
_ROWS = 1000  # at most, in a batch


def read_parquet(file: TextFile, state: State) -> Iterator[Item]:
    """A row is a document; damage in a row group costs the rest of that group."""
    import pyarrow.parquet as pq

    start, begin = state.get("row", 0), 0
    try:
        with file.path.open("rb"):
            pass
    except OSError as error:
        raise Broken("unreadable", 0, error.strerror or "") from None
    with _damage_told():
        table = pq.ParquetFile(file.path, buffer_size=2**20, page_checksum_verification=True)
        there = table.schema_arrow.names
    with table:
        if file.columns.text not in there:
            yield file.no_column(0, there, size_of(file.path)), ENDED
            return
        wanted = [name for name in dict.fromkeys(dict(file.columns).values()) if name in there]
        for group in range(table.num_row_groups):
            end = begin + table.metadata.row_group(group).num_rows
            place = max(begin, start)
            try:
                for row in _rows(table, group, wanted, place - begin) if place < end else ():
                    place += 1
                    yield file.row(row, place - 1, place), {"row": place}
            except Broken as error:
                yield file.fault(place, error.reason, error.sample), {"row": end}
            begin = end


@contextmanager
def _damage_told() -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Broken("damaged", 0, str(error)) from None


def _rows(
    file: "pq.ParquetFile", group: int, columns: list[str], first: int
) -> Iterator[dict[str, Any]]:
    """The rows of a row group from its `first` on; raises Broken where they are damaged."""
    size = file.metadata.row_group(group)
    rows = min(_BATCH * size.num_rows // max(size.total_byte_size, 1) + 1, _ROWS)
    batches = file.iter_batches(rows, [group], columns, use_threads=False)
    before = 0
    while True:
        with _damage_told():
            batch = next(batches, None)
        if batch is None:
            break
        before += batch.num_rows
        if before > first:
            batch = batch.slice(max(first - (before - batch.num_rows), 0))
            parts = [_values(column) for column in batch.columns]
            names = batch.schema.names
            yield from (dict(zip(names, row, strict=True)) for row in zip(*parts, strict=True))
    if before < size.num_rows:
        raise Broken("damaged", before, f"{size.num_rows - before} rows are missing")


def _values(column: "pa.Array") -> list[Any]:
    """The values of a column; text that is not UTF-8 keeps its bytes as lone surrogates."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.large_binary())
    values = column.to_pylist()
    return [v.decode(errors="surrogateescape") if isinstance(v, bytes) else v for v in values]
