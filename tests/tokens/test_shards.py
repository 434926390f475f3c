"""The shard layout, checked by a reader written from Megatron's description alone."""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongues.core.errors import UserError
from tongues.text.tokens.shards import open_shard, shard_dtype, write_shard


def batch(documents: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    tokens = np.array([token for document in documents for token in document], dtype=np.int64)
    return tokens, np.array([len(document) for document in documents], dtype=np.int64)


def read_as_megatron(place: Path) -> list[list[int]]:
    index = Path(f"{place}.idx").read_bytes()
    data = Path(f"{place}.bin").read_bytes()
    assert index[:9] == b"MMIDIDX\x00\x00"
    assert struct.unpack_from("<Q", index, 9) == (1,)
    letter, width = {4: ("i", 4), 8: ("H", 2)}[index[17]]
    sequences, bounds = struct.unpack_from("<QQ", index, 18)
    lengths = struct.unpack_from(f"<{sequences}i", index, 34)
    pointers = struct.unpack_from(f"<{sequences}q", index, 34 + 4 * sequences)
    documents = struct.unpack_from(f"<{bounds}q", index, 34 + 12 * sequences)
    assert len(index) == 34 + 12 * sequences + 8 * bounds
    assert documents == tuple(range(sequences + 1))
    assert len(data) == width * sum(lengths)
    return [
        list(struct.unpack_from(f"<{length}{letter}", data, pointer))
        for length, pointer in zip(lengths, pointers, strict=True)
    ]


@pytest.mark.parametrize(("vocabulary", "name"), [(65536, "uint16"), (65537, "int32")])
@given(data=st.data())
@settings(deadline=None, max_examples=20)
def test_megatron_reads_what_is_written(
    tmp_path_factory: pytest.TempPathFactory, vocabulary: int, name: str, data: st.DataObject
) -> None:
    document = st.lists(st.integers(0, vocabulary - 1), min_size=1, max_size=9)
    batches = data.draw(st.lists(st.lists(document, min_size=1, max_size=4), max_size=4))
    place = tmp_path_factory.mktemp("shard") / "train"
    dtype = shard_dtype(vocabulary)
    assert dtype.name == name
    write_shard(place, map(batch, batches), dtype)
    documents = [document for documents in batches for document in documents]
    assert read_as_megatron(place) == documents
    shard = open_shard(place)
    ends = zip(shard.bounds[:-1], shard.bounds[1:], strict=True)
    assert [shard.tokens[start:stop].tolist() for start, stop in ends] == documents


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    def documents():
        yield batch([[1, 2]])
        raise RuntimeError("cut off")

    with pytest.raises(RuntimeError):
        write_shard(tmp_path / "train", documents(), shard_dtype(10))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["no idx", "no bin", "short idx", "short bin", "other", "code"])
def test_a_damaged_shard_is_refused(tmp_path: Path, damage: str) -> None:
    place = tmp_path / "train"
    write_shard(place, [batch([[1, 2], [3]])], shard_dtype(10))
    index, data = Path(f"{place}.idx"), Path(f"{place}.bin")
    match damage:
        case "no idx":
            index.unlink()
        case "no bin":
            data.unlink()
        case "short idx":
            index.write_bytes(index.read_bytes()[:-1])
        case "short bin":
            data.write_bytes(data.read_bytes()[:-1])
        case "other":
            index.write_bytes(b"x" * 80)
        case "code":
            whole = index.read_bytes()
            index.write_bytes(whole[:17] + b"\x63" + whole[18:])
    with pytest.raises(UserError, match="not a complete token shard"):
        open_shard(place)
