"""The files that a recipe's paths, directories and globs name, and those that are passed over."""

import glob
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tongues.core.errors import UserError, nearest
from tongues.text.reading.files import FILE_TYPES, type_of
from tongues.text.reading.streams import PACKED, size_of

_URL = re.compile(r"[A-Za-z][\w+.-]*://")


def find_files(patterns: Iterable[str], where: str) -> list[Path]:
    """The files that paths, directories and globs name, each once, in the order given.

    A directory gives the text files in it and below, sorted by path, without names that begin with
    a dot and without its README. where: the recipe key of the patterns, for errors.
    """
    return [path for path, kind in _named(patterns, where) if not kind]


def passed_over(patterns: Iterable[str], where: str) -> dict[str, dict[str, int]]:
    """Files and bytes of what is in the directories and globs and is not read, by kind."""
    kinds: dict[str, dict[str, int]] = {}
    for path, kind in _named(patterns, where):
        if kind:
            row = kinds.setdefault(kind, {"files": 0, "bytes": 0})
            row["files"] += 1
            row["bytes"] += size_of(path)
    return dict(sorted(kinds.items(), key=lambda each: -each[1]["bytes"]))


def _named(patterns: Iterable[str], where: str) -> list[tuple[Path, str]]:
    """Each file once, and the kind of one that is passed over."""
    every: dict[Path, str] = {}
    for pattern in patterns:
        if _URL.match(pattern):
            hint = "copy its files to this machine; data sets of the hub are named in `text.hub`"
            raise UserError(f"`{pattern}` is not a path", where=where, hint=hint)
        is_path = Path(pattern).exists() or not glob.has_magic(pattern)
        paths = [pattern] if is_path else sorted(glob.glob(pattern, recursive=True))
        if not paths:
            hint = _nearest_file(Path(pattern))
            raise UserError(f"no file matches `{pattern}`", where=where, hint=hint)
        for path in map(Path, paths):
            if not path.exists():
                raise UserError(f"there is no file `{path}`", where=where, hint=_nearest_file(path))
            below = dict(_below(path, where)) if path.is_dir() else {path: _kind(path)}
            if is_path and not path.is_dir() and below[path]:
                raise UserError(f"`{path}` is not a text file", where=where, hint=_what_is_read())
            # A glob may match directories without text; a named directory must have some.
            if is_path and all(below.values()):
                raise UserError(f"`{path}` holds no text file", where=where, hint=_what_is_read())
            every |= {path: kind for path, kind in below.items() if path not in every}
    if all(every.values()):
        hint = f"list paths, directories or globs; {_what_is_read()}"
        raise UserError("no file is named", where=where, hint=hint)
    return list(every.items())


def _what_is_read() -> str:
    endings = ", ".join(f".{ending}" for kind in FILE_TYPES for ending in kind.endings)
    return f"text is read from {endings}, also packed as {', '.join(PACKED)}"


def _kind(path: Path) -> str:
    """What keeps a file from being read; empty for a text file."""
    if not path.exists():
        return "dead link"
    if not path.is_file():
        return "device or pipe"
    return "" if type_of(path.name) else path.suffix.lower() or "no ending"


def _below(directory: Path, where: str) -> Iterator[tuple[Path, str]]:
    try:
        entries = sorted(directory.iterdir())
    except OSError as error:
        what = f"`{directory}` cannot be read ({error.strerror})"
        raise UserError(what, where=where, hint="check that you may read it") from None
    for entry in entries:
        if entry.is_dir() and not entry.name.startswith("."):
            if entry.is_symlink():
                yield entry, "linked folder"
            else:
                yield from _below(entry, where)
        elif entry.name.startswith("."):
            yield entry, "hidden"
        else:
            readme = entry.name.lower().startswith("readme")
            yield entry, "README" if readme else _kind(entry)


def _nearest_file(path: Path) -> str:
    folder = path.parent
    while glob.has_magic(str(folder)):
        folder = folder.parent
    if not folder.is_dir():
        return f"there is no directory `{folder}` in `{Path.cwd()}`"
    names = [entry.name for entry in folder.iterdir() if entry.is_dir() or not _kind(entry)]
    return nearest(path.name, names) if names else f"`{folder}` holds no text file"
