"""The bytes of plain and packed files, from any place on, and their lines."""

import bz2
import codecs
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Protocol

from tongues.text.reading.origin import LONGEST, Broken, Reason

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


_BLOCK = 2**20  # bytes
_WINDOW: dict[int, int] = {
    zstd.DecompressionParameter.window_log_max: 31
}  # a frame may refer 2 GB back
_HEAD = 1000  # bytes kept of a line that is too long


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


# How to begin, and how many bytes to unpack at a time so that no more than 9 MB come out.
_ARCHIVES: dict[str, tuple[Callable[[], _Unpacker], int]] = {
    ".gz": (lambda: zlib.decompressobj(wbits=31), 2**13),
    ".zst": (lambda: zstd.ZstdDecompressor(options=_WINDOW), 2**8),
    ".bz2": (bz2.BZ2Decompressor, 2**8),
    ".xz": (lzma.LZMADecompressor, 2**10),
}
PACKED = tuple(_ARCHIVES)
# Byte order marks of encodings other than UTF-8, the longer ones first.
_MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
_MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end; of one longer than a document may be, only the beginning.

    place: the byte it begins at. number: counted from 1. after: the byte behind its end.
    ended: whether a line feed ends it.
    """

    place: int
    number: int
    after: int
    data: bytes
    ended: bool

    @property
    def too_long(self) -> bool:
        """Whether `data` is only its beginning."""
        return self.after - self.place - self.ended > LONGEST

    @property
    def blank(self) -> bool:
        """Whether it holds nothing but white space."""
        return not (self.too_long or self.data.strip())


def size_of(path: Path) -> int:
    """Bytes of a file; 0 where it is none."""
    return path.stat().st_size if path.is_file() else 0


def content_kind(name: str) -> str:
    """The ending of a file's name without that of an archive, in lower case: `jsonl`."""
    name = name.lower()
    for ending in PACKED:
        name = name.removesuffix(ending)
    return name.rpartition(".")[2]


def blocks(path: Path, start: int = 0, encoding: str = "") -> Iterator[bytes]:
    """The unpacked text of a file from byte `start` of its UTF-8 on; may raise Broken anywhere.

    encoding: of the file; by default that of its byte order mark, or UTF-8.
    """
    if not encoding:
        head = next(_bytes(path), b"")[:4]
        encoding = next((name for mark, name in _MARKS.items() if head.startswith(mark)), "")
    if not encoding:
        yield from _bytes(path, start)
        return
    decoder, place = codecs.getincrementaldecoder(encoding)("surrogateescape"), 0
    for block in chain(_bytes(path), [b""]):
        try:
            data = decoder.decode(block, final=not block).encode(errors="surrogateescape")
        except UnicodeError as error:
            raise Broken("bad encoding", place, f"not {encoding}: {error}") from None
        begin, place = place, place + len(data)
        if place > start:
            yield data[max(start - begin, 0) :]


def _bytes(path: Path, start: int = 0) -> Iterator[bytes]:
    ending = path.suffix.lower()
    packed = ending in _ARCHIVES
    place = 0 if packed else start
    try:
        with path.open("rb") as file:
            file.seek(place)
            plain = iter(lambda: file.read(_BLOCK), b"")
            for block in _unpack(file, *_ARCHIVES[ending]) if packed else plain:
                begin, place = place, place + len(block)
                if place > start:
                    yield block[max(start - begin, 0) :]
    except EOFError:
        raise Broken("archive cut off", place) from None
    except (zlib.error, zstd.ZstdError, lzma.LZMAError) as error:
        raise Broken("archive damaged", place, str(error)) from None
    except OSError as error:  # of bz2 without a number: the data are damaged
        reason: Reason = "unreadable" if error.errno else "archive damaged"
        raise Broken(reason, place, error.strerror or str(error)) from None


def lines(parts: Iterator[bytes], place: int = 0, number: int = 1) -> Iterator[Line]:
    """The lines of a stream whose first byte is at `place`, in line `number`.

    A line that is too long is never held. All that came before a Broken is handed out first.
    """
    held: list[bytes] = []  # of the line that has not ended yet
    size = 0  # of that line so far
    broken = None
    try:
        for block in parts:
            *ended, rest = block.split(b"\n")
            for data in ended:
                size += len(data)
                if held:
                    data, held = b"".join((*held, data)), []
                after = place + size + 1
                yield Line(place, number, after, data if size <= LONGEST else data[:_HEAD], True)
                place, number, size = after, number + 1, 0
            size += len(rest)
            held.append(rest)
            if size > LONGEST:
                held = [b"".join(held)[:_HEAD]]
    except Broken as error:
        broken = error
    if size:
        yield Line(place, number, place + size, b"".join(held), False)
    if broken:
        raise broken


def _unpack(file: BinaryIO, begin: Callable[[], _Unpacker], size: int) -> Iterator[bytes]:
    """The bytes of all members or frames of an archive; EOFError when the last is cut off."""
    unpacker, whole = begin(), False
    while packed := file.read(size):
        while packed:
            unpacker = begin() if whole else unpacker
            yield unpacker.decompress(packed)
            packed, whole = unpacker.unused_data, unpacker.eof
    if not whole:
        raise EOFError
