"""Token shards on disk in Megatron's indexed layout: `NAME.bin` and `NAME.idx`."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tongues.core.errors import UserError
from tongues.core.files import check_readable, whole_file

_MAGIC = b"MMIDIDX\x00\x00"
_HEADER = struct.Struct("<9sQBQQ")  # magic, version, dtype, sequences, document bounds
# Megatron-LM's numbers of types (core/datasets/indexed_dataset.py).
_CODES = {np.dtype("<i4"): 4, np.dtype("<u2"): 8}
_DTYPES = {code: dtype for dtype, code in _CODES.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """Documents of tokens, memory-mapped: document i is `tokens[bounds[i]:bounds[i + 1]]`."""

    tokens: np.ndarray
    bounds: np.ndarray


def shard_dtype(vocabulary_size: int) -> np.dtype:
    """The narrowest of the layout's types that holds every token id."""
    return np.dtype("<u2" if vocabulary_size <= 65536 else "<i4")


def write_shard(
    place: Path, documents: Iterable[tuple[np.ndarray, np.ndarray]], dtype: np.dtype
) -> None:
    """Stream documents to `place`.bin and then write `place`.idx; both whole or absent.

    `documents` hands out batches: the tokens of some documents end to end, and the number
    of tokens of each.
    """
    lengths: list[np.ndarray] = []
    with whole_file(_with(place, ".bin")) as aside, aside.open("wb") as file:
        for tokens, batch_lengths in documents:
            file.write(tokens.astype(dtype, copy=False).data)
            lengths.append(batch_lengths)
    sizes = np.concatenate([np.empty(0, np.int64), *lengths])
    starts = np.cumsum(sizes) - sizes
    with whole_file(_with(place, ".idx")) as aside, aside.open("wb") as file:
        file.write(_HEADER.pack(_MAGIC, 1, _CODES[dtype], len(sizes), len(sizes) + 1))
        file.write(sizes.astype("<i4").data)
        file.write((starts * dtype.itemsize).astype("<i8").data)
        file.write(np.arange(len(sizes) + 1, dtype="<i8").data)


def open_shard(place: Path) -> Shard:
    """Map the shard at `place`.bin and `place`.idx; a UserError when it is not whole."""
    index, data = _with(place, ".idx"), _with(place, ".bin")
    check_readable(index)
    check_readable(data)
    try:
        with index.open("rb") as file:
            header = file.read(_HEADER.size)
            magic, version, code, count, bound_count = _HEADER.unpack(header)
            known = (magic, version, bound_count) == (_MAGIC, 1, count + 1)
            if not known or index.stat().st_size != _HEADER.size + 12 * count + 8 * bound_count:
                raise ValueError("its index is cut off or of another kind")
            sizes = np.fromfile(file, "<i4", count)
        bounds = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        dtype = _DTYPES[code]
        if data.stat().st_size != bounds[-1] * dtype.itemsize:
            raise ValueError("its index is of other tokens")
        tokens = np.memmap(data, dtype, mode="r") if bounds[-1] else np.empty(0, dtype)
    except (OSError, ValueError, KeyError, struct.error) as error:
        reason = f"is not a complete token shard ({error})"
        raise UserError(reason, where=str(data), hint="prepare again with `--overwrite`") from None
    return Shard(tokens, bounds)


def _with(place: Path, suffix: str) -> Path:
    return place.with_name(place.name + suffix)
