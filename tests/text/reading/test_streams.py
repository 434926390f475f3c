"""Bytes and lines of plain and packed files, whole and broken."""

import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tongues.text.reading import LONGEST
from tongues.text.reading.origin import Broken
from tongues.text.reading.streams import Line, blocks, lines

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".txt": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def read(path: Path, start: int = 0) -> tuple[bytes, tuple[str, int] | None]:
    held = b""
    try:
        for block in blocks(path, start):
            held += block
    except Broken as error:
        return held, (error.reason, error.place)
    return held, None


@pytest.mark.parametrize("kind", PACK)
def test_any_place_can_be_gone_to_over_several_members(tmp_path: Path, kind: str) -> None:
    parts = [bytes(range(256)) * 3000, b"", b"zwei" * 70_000]
    path = tmp_path / f"a{kind}"
    path.write_bytes(b"".join(map(PACK[kind], parts)))
    data = b"".join(parts)
    for start in (0, 1, 767_999, 768_000, 768_001, len(data)):
        assert read(path, start) == (data[start:], None)


@pytest.mark.parametrize("kind", [".gz", ".zst"])
def test_what_can_be_unpacked_of_a_broken_archive_is(tmp_path: Path, kind: str) -> None:
    first = b"".join(b"line %d\n" % (n * n) for n in range(100_000))
    packed = PACK[kind](first) + PACK[kind](first)
    path = tmp_path / f"a{kind}"
    path.write_bytes(packed[: len(packed) * 3 // 4])
    data, broken = read(path)
    assert broken == ("archive cut off", len(data))
    assert data == (first + first)[: len(data)] and len(data) > 1.4 * len(first)
    path.write_bytes(PACK[kind](first) + b"rubbish")
    assert read(path) == (first, ("archive damaged", len(first)))
    path.write_bytes(packed[:-9] + bytes([packed[-9] ^ 1]) + packed[-8:])
    assert read(path)[1]
    path.write_bytes(b"")
    assert read(path) == (b"", ("archive cut off", 0))
    assert read(tmp_path) == (b"", ("unreadable", 0))


@given(st.lists(st.binary(max_size=12)), st.integers(0, 5))
def test_lines_are_those_of_the_whole_however_it_is_cut(parts: list[bytes], before: int) -> None:
    data = b"".join(parts)
    expected = data.split(b"\n")
    found = list(lines(iter(parts), before, 7))
    assert [line.data for line in found] == expected[: len(expected) - (not expected[-1])]
    assert [line.number for line in found] == [7 + n for n in range(len(found))]
    for line in found:
        place, after = line.place - before, line.after - before
        assert data[place:after] == line.data + b"\n" * line.ended


def test_of_a_long_line_only_the_beginning_is_held() -> None:
    size = LONGEST // 10
    parts = [b"a\n", *[b"b" * size] * 15, b"b\nc\n", b"d" * LONGEST, b"\n", b"e" * (LONGEST + 1)]
    found = list(lines(iter(parts)))
    assert [line.too_long for line in found] == [False, True, False, False, True]
    assert [len(line.data) < 2000 for line in found] == [True, True, True, False, True]
    assert found[2] == Line(15 * size + 4, 3, 15 * size + 6, b"c", True)


@pytest.mark.parametrize("kind", PACK)
def test_memory_is_bounded_whatever_a_line_holds(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a{kind}"
    path.write_bytes(PACK[kind](b"x" * (10 * LONGEST) + b"\nlast"))
    tracemalloc.start()
    found = [(line.too_long, len(line.data)) for line in lines(blocks(path))]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [(True, 1000), (False, 4)]
    assert peak < 6 * LONGEST


def test_frames_of_large_windows_are_read(tmp_path: Path) -> None:
    settings = zstandard.ZstdCompressionParameters(window_log=28, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=settings).compressobj()  # size unknown
    path = tmp_path / "a.zst"
    path.write_bytes(packer.compress(b"eins\n") + packer.flush())
    assert read(path) == (b"eins\n", None)
