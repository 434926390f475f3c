"""The files that a recipe's paths, directories and globs name."""

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tongues.errors import UserError, nearest

__all__ = ["KINDS", "find_files"]

KINDS = (".txt", ".jsonl", ".parquet", ".txt.gz", ".jsonl.gz", ".txt.zst", ".jsonl.zst")


def find_files(patterns: Iterable[str], where: str) -> list[Path]:
    """The files that paths, directories and globs name, each once, in the order of `patterns`.

    A directory gives the text files in it and below, sorted by path, without names that begin with
    a dot. where: the recipe key of the patterns, for errors.
    """
    files: dict[Path, None] = {}
    for pattern in patterns:
        is_path = Path(pattern).exists() or not glob.has_magic(pattern)
        paths = [pattern] if is_path else sorted(glob.glob(pattern, recursive=True))
        if not paths:
            hint = _nearest_file(Path(pattern))
            raise UserError(f"no file matches `{pattern}`", where=where, hint=hint)
        for path in map(Path, paths):
            if not path.exists():
                raise UserError(f"there is no file `{path}`", where=where, hint=_nearest_file(path))
            below = list(_text_files(path, where)) if path.is_dir() else [path]
            hint = f"text is read from {', '.join(KINDS)}"
            if not path.is_dir() and not path.name.endswith(KINDS):
                raise UserError(f"`{path}` is not a text file", where=where, hint=hint)
            # A glob may match directories without text; a named directory must have some.
            if is_path and not below:
                raise UserError(f"`{path}` holds no text file", where=where, hint=hint)
            files |= dict.fromkeys(below)
    if not files:
        hint = "list paths, directories or globs of .txt, .jsonl or .parquet files"
        raise UserError("no file is named", where=where, hint=hint)
    return list(files)


def _text_files(directory: Path, where: str) -> Iterator[Path]:
    try:
        entries = sorted(directory.iterdir())
    except OSError as error:
        what = f"`{directory}` cannot be read ({error.strerror})"
        raise UserError(what, where=where, hint="check that you may read it") from None
    for entry in entries:
        if entry.name.startswith(".") or not os.access(entry, os.F_OK):
            continue
        if entry.is_dir():
            if not entry.is_symlink():
                yield from _text_files(entry, where)
        elif entry.name.endswith(KINDS):
            yield entry


def _nearest_file(path: Path) -> str:
    folder = path.parent
    while glob.has_magic(str(folder)):
        folder = folder.parent
    if not folder.is_dir():
        return f"there is no directory `{folder}` in `{Path.cwd()}`"
    beside = [file.name for file in folder.iterdir() if file.name.endswith(KINDS)]
    return nearest(path.name, beside) if beside else f"`{folder}` holds no text file"
