"""Files of object stores and servers (`s3://`, `gs://`, `https://`, …), through fsspec.

Credentials are found by the store's own package, in the environment or in fsspec's configuration.
"""

import io
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from tongues.errors import UserError, nearest
from tongues.files import fingerprint
from tongues.ranks import Say

_BLOCK = 2**20  # bytes
_WAITS = (0.5, 1, 2, 4, 8, 16)  # seconds before a broken connection is tried again
_URL = re.compile(r"[A-Za-z][\w+.-]*://")
_QUERY = re.compile(r"(?<=\?)[^\s'\")]+")  # of a URL, to which a server may have redirected
# What stores call a checksum or version of an object, then when it was changed.
_CHECKSUMS = ("ETag", "etag", "md5Hash", "md5", "Content-MD5", "Digest", "content_md5", "blob_id")
_TIMES = ("Last-Modified", "LastModified", "last_modified", "updated", "mtime", "created")
_GONE = (404, 410)  # answers of servers
_FINAL = (401, 403, *_GONE)  # those that stay as they are
_LASTING = (FileNotFoundError, PermissionError, ImportError)


def _silent(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Remote:
    """A file by its URL, which holds no credentials, as it was listed.

    size: bytes, where the store knows. identity: changes when the content does, as far as the store
    knows. Its last field gets a line when a connection is tried again.
    """

    url: str
    size: int | None
    identity: str
    tell: Say = field(default=_silent, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Its last part."""
        return PurePosixPath(self.url).name

    @property
    def suffix(self) -> str:
        """The ending of its name."""
        return PurePosixPath(self.url).suffix

    def open(self) -> io.BufferedReader:
        """Its bytes as a stream that survives broken connections.

        A UserError where the file is out of reach, or another than was listed.
        """
        return io.BufferedReader(_Stream(self), _BLOCK)

    def __str__(self) -> str:
        return self.url


Place: TypeAlias = Path | Remote  # of a file


def size_of(place: Place) -> int:
    """Bytes of a file; 0 where it is none, or its store does not know."""
    if isinstance(place, Remote):
        return place.size or 0
    return place.stat().st_size if place.is_file() else 0


def is_url(text: str) -> bool:
    """Whether a path of a recipe is a URL."""
    return bool(_URL.match(text))


def list_remote(pattern: str, where: str) -> list[Remote]:
    """The files that a URL, of a file, a folder or a glob, names, sorted by URL.

    where: the recipe key of the pattern. A UserError where there is none, or no way to it.
    """
    with _explained(pattern, where):
        store, path = _opened(pattern)
        if has_magic(path):
            found = store.glob(path, detail=True)
        elif PurePosixPath(path).suffix:  # servers answer a question for files in it with the whole
            found = {path: store.info(path)}
        else:
            found = store.find(path, detail=True)
        for folder in [name for name, about in found.items() if _is_folder(about)]:
            found |= store.find(folder, detail=True)
        files: list[Remote] = []
        for name, about in sorted(found.items()):
            if "?" not in name and not _is_folder(about):  # links by which servers sort a folder
                checked = about if _checksum(about) else store.info(name)
                url = store.unstrip_protocol(name)
                files.append(Remote(url, checked.get("size"), _identity(checked)))
    if not files:
        raise UserError(f"no file matches `{pattern}`", where=where, hint="check its spelling")
    return files


class _Stream(io.RawIOBase):
    """The bytes of a file, from any place on; broken connections are opened again."""

    def __init__(self, remote: Remote) -> None:
        super().__init__()
        self._remote, self._place = remote, 0
        self._file: Any = None
        self._ranges = True  # whether the server sends parts of a file
        self._again(self._reach)  # what is out of reach is told at once

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        end = self._remote.size
        if whence == io.SEEK_END and end is None:
            what, hint = "its size is not known to its server", "copy it to this machine"
            raise UserError(what, where=self._remote.url, hint=hint)
        self._place = (0, self._place, end or 0)[whence] + offset
        return self._place

    def readinto(self, buffer: Any) -> int:
        data = self._again(lambda: self._read(len(buffer)))
        self._place += len(data)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._drop()
        super().close()

    def _read(self, size: int) -> bytes:
        self._reach()
        data = self._file.read(size)
        end = self._remote.size
        if not data and end is not None and self._place < end:
            raise EOFError(f"it ended after {self._place} of {end} bytes")
        return data

    def _reach(self) -> bytes:
        """Have the file opened at the place to read from."""
        if self._file is None:
            store, path = _opened(self._remote.url)
            if _identity(store.info(path)) != self._remote.identity:
                what, hint = "was changed while it was read", "run the same command again"
                raise UserError(what, where=self._remote.url, hint=hint)
            self._file = store.open(path, "rb", **({} if self._ranges else {"block_size": 0}))
        if self._file.tell() != self._place and self._ranges:
            self._file.seek(self._place)
        elif self._file.tell() > self._place:
            self._drop()
            return self._reach()
        while (left := self._place - self._file.tell()) > 0 and self._file.read(min(left, _BLOCK)):
            pass
        return b""

    def _drop(self) -> None:
        with suppress(Exception):  # of a connection that is broken
            if self._file is not None:
                self._file.close()
        self._file = None

    def _again(self, work: Callable[[], bytes]) -> bytes:
        """Do some work, and again after a while where a connection breaks."""
        waits = list(_WAITS)
        while True:
            try:
                return work()
            except UserError:
                raise
            except Exception as error:  # stores and their connections raise many kinds
                self._drop()
                if isinstance(error, ValueError) and self._ranges:  # it sends only the whole
                    self._ranges = False
                    continue
                reason = _cause(error)
                if not waits or isinstance(reason, _LASTING) or _status(reason) in _FINAL:
                    with _explained(self._remote.url, ""):
                        raise
                message = f"{self._remote}: {_sentence(reason)}; from byte {self._place} on again"
                self._remote.tell(f"{message} in {waits[0]:g} s")
                time.sleep(waits.pop(0))


def _opened(url: str) -> tuple[Any, str]:
    """The store of a URL, which has forgotten what it listed, and the path in it."""
    from fsspec.core import url_to_fs

    store, path = url_to_fs(url)
    store.invalidate_cache()
    return store, path


def _cause(error: Exception) -> Exception:
    """What is behind an error: fsspec calls every answer of a server a missing file."""
    behind = error.__cause__
    return behind if isinstance(behind, Exception) else error


def _status(error: Exception) -> int:
    return getattr(error, "status", 0)


def _is_folder(about: dict[str, Any]) -> bool:
    return about.get("type") == "directory"


def _checksum(about: dict[str, Any]) -> str:
    lfs = about.get("lfs") or {}
    every = [lfs.get("sha256"), *(about.get(key) for key in _CHECKSUMS)]
    return str(next((each for each in every if each), ""))


def _identity(about: dict[str, Any]) -> str:
    """Short text from size and checksum of a file; without a checksum, its time."""
    times = (about.get(key) for key in _TIMES)
    version = _checksum(about) or str(next((each for each in times if each), ""))
    return fingerprint([about.get("size"), version])


@contextmanager
def _explained(url: str, where: str) -> Iterator[None]:
    """What stores raise, as a UserError with what to do."""
    from fsspec.registry import known_implementations

    scheme = url.partition("://")[0].lower()
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        reason = _cause(error)
        reply = _sentence(reason)
        what = f"`{url}` cannot be read ({reply})"
        hint, code = "check the connection, and run the same command again", "download"
        if isinstance(error, ImportError):
            package = str(known_implementations[scheme]["class"]).partition(".")[0]
            what, code = f"`{url}` needs a package that is not installed", ""
            hint = f"pip install {'aiohttp requests' if package == 'fsspec' else package}"
        elif "Protocol not known" in reply:
            schemes = ("s3", "gs", "az", "hf", "https", "http", "ftp", "sftp")
            what, hint, code = (
                f"`{url}`: no store of this kind is known",
                nearest(scheme, schemes),
                "",
            )
        elif isinstance(reason, FileNotFoundError) or _status(reason) in _GONE:
            what, hint, code = f"there is no file `{url}`", "check its spelling", ""
        elif isinstance(reason, PermissionError) or _status(reason) or "redential" in reply:
            hint = "give credentials in the environment, as the store's package reads them, or in "
            hint += "fsspec's configuration, never in a recipe"
        raise UserError(what, where=where or url, hint=hint, code=code) from None


def _sentence(error: Exception) -> str:
    """The first line of an error, without what may be a signature."""
    lines = str(error).strip().splitlines()
    return _QUERY.sub("…", lines[0]) if lines else type(error).__name__
