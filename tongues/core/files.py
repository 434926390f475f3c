"""Files that are never half-written, and fingerprints of what made them."""

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from tongues.core.errors import UserError

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PATIENCE = 5.0  # seconds
_UNSAFE = re.compile(r"[^\w.@+-]+")


def fingerprint(thing: Any) -> str:
    """Sixteen hex digits that change when the JSON form of `thing` does."""
    canonical = json.dumps(thing, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode(errors="surrogatepass")).hexdigest()[:16]


def path_text(path: object) -> str:
    """A path or URL as text that can be written down, bytes that are not UTF-8 as escapes."""
    return os.fsencode(str(path)).decode(errors="backslashreplace")


def file_name(said: str) -> str:
    """A name as that of a file; a hash keeps names distinct that lost letters."""
    safe = _UNSAFE.sub("-", said).strip("-.")
    return safe if safe == said else f"{safe[-80:]}-{fingerprint(said)[:8]}"


def files_named(place: Path, *names: str) -> Iterator[Path]:
    """The files of these names at or below a folder, none where there is no folder.

    Folders that another process removes meanwhile are passed over.
    """
    for folder, _, files in os.walk(place):
        yield from (Path(folder, name) for name in names if name in files)


def changed_at(path: Path) -> float:
    """When a file was last changed, in seconds since the epoch; 0 where there is none."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def file_hash(path: Path) -> str:
    """SHA-256 of a file; a UserError when it cannot be read."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    except OSError as error:
        raise UserError(f"cannot be read ({error})", where=str(path)) from None
    return digest.hexdigest()


def check_writable(path: Path) -> None:
    """A UserError unless something can be written at a path: its nearest folder is tried.

    A full disk is left to what writes there, which knows how much it takes.
    """
    folder = path.absolute().parent
    while not folder.exists():
        folder = folder.parent
    try:
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        if error.errno in DISK_FULL:
            return
        reason = os.strerror(errno.EROFS if error.errno == errno.ENOENT else error.errno or 0)
        what = f"nothing can be written in this folder ({reason})"
        hint = "name another place, or get the right to write there"
        raise UserError(what, where=str(folder), hint=hint) from None


def check_readable(path: Path) -> None:
    """A UserError where a file may not be read, which libraries report as missing or damaged."""
    try:
        with suppress(FileNotFoundError), path.open("rb"):
            pass
    except PermissionError as error:
        what, hint = f"cannot be read ({error.strerror})", "get the right to read it"
        raise UserError(what, where=str(path), hint=hint) from None


@contextmanager
def _folder_named(path: Path) -> Iterator[None]:
    """Name the folder of a path where nothing can be written there, and a path whose disk is full.

    What pyarrow and others raise of a full disk names neither.
    """
    try:
        yield
    except OSError as error:
        check_writable(path)
        if error.errno in DISK_FULL:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from None
        raise


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Write to the path handed out; it takes its place when the block ends without an error.

    A link is followed; what is not a regular file, such as a device, is refused.
    """
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():
        raise UserError("is not a regular file", where=str(path), hint="name another")
    with _folder_named(path):
        aside = _aside(path)
        try:
            yield aside
            _flush(aside)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """Fill the directory handed out; it replaces `path` when the block ends without an error."""
    with _folder_named(path):
        aside = _aside(path)
        aside.mkdir()
        try:
            yield aside
            for file in aside.rglob("*"):
                if file.is_file():
                    _flush(file)
            shutil.rmtree(path, ignore_errors=True)
            aside.replace(path)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a whole text file or none; bytes of paths that are not UTF-8 as JSON's escapes."""
    with whole_file(path) as aside:
        aside.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_json(path: Path, thing: Any) -> None:
    """Write a whole JSON file or none; NaN and infinity are a ValueError."""
    write_text(path, json.dumps(thing, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """What a JSON file holds."""
    return json.loads(path.read_text(encoding="utf-8"))


def append_line(path: Path, row: Mapping[str, Any]) -> None:
    """Add one JSON line."""
    with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The whole JSON lines of a file; a last line cut off by a kill is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines if line]


def newest_lines(path: Path, size: int = 16_384) -> Iterator[dict[str, Any]]:
    """The whole JSON lines in the last `size` bytes of a file, the newest first."""
    if not path.exists():
        return
    with path.open("rb") as file:
        start = max(0, file.seek(0, os.SEEK_END) - size)
        file.seek(start)
        lines = file.read().split(b"\n")[:-1]
    for line in reversed(lines[1:] if start else lines):
        yield json.loads(line)


@contextmanager
def only_one(place: Path) -> Iterator[None]:
    """Hold a directory for this process, whether it exists yet or not.

    Waits some seconds for another process, which may be leaving a checkpoint; then a UserError.
    """
    check_writable(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    with _lock(place).open("w") as file:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    what, hint = "another process is at work here", "wait for it, or stop it first"
                    raise UserError(what, where=str(place), hint=hint) from None
                time.sleep(0.1)
        with _folder_named(place):
            yield


def is_held(place: Path) -> bool:
    """Whether a process holds a directory with `only_one` now."""
    try:
        with _lock(place).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no lock: nobody was ever here
        return False
    return False


def remove_directory(path: Path) -> None:
    """Remove a directory, if it is there, so that it is never seen half removed."""
    aside = _aside(path)
    if path.exists():
        path.replace(aside)
        shutil.rmtree(aside)


def _lock(place: Path) -> Path:
    return place.with_name(f".{place.name}.lock")


def _aside(path: Path) -> Path:
    """Where to write what will be `path`; clears what killed processes left there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f".{path.name}.*.part"):
        process = left.name.split(".")[-2]
        if process == str(os.getpid()) or not Path(f"/proc/{process}").exists():
            shutil.rmtree(left, ignore_errors=True)
            left.unlink(missing_ok=True)
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def _flush(path: Path) -> None:
    """Have a file on the disk, for all whom the umask lets read it; safetensors leaves it 0600."""
    mask = os.umask(0o077)
    os.umask(mask)
    with path.open("rb") as file:
        os.fchmod(file.fileno(), path.stat().st_mode | (0o666 & ~mask))
        os.fsync(file.fileno())
