"""Documents from the user's files: `.txt` and `.jsonl`, plain or `.gz`."""

import glob
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from tongues.errors import UserError, nearest
from tongues.files import fingerprint
from tongues.text.document import Document

__all__ = ["find_files", "read_files"]

_KINDS = (".txt", ".jsonl", ".txt.gz", ".jsonl.gz")
_LAYOUT = 'write one document a line, like {"text": "..."}'


def find_files(patterns: Iterable[str], where: str) -> list[Path]:
    """The files that paths and globs name, each once, in the order named.

    `where` is the recipe key that holds the patterns; it is shown in errors.
    """
    found: dict[Path, None] = {}
    for pattern in patterns:
        is_path = Path(pattern).exists() or not glob.has_magic(pattern)
        paths = [pattern] if is_path else sorted(glob.glob(pattern, recursive=True))
        if not paths:
            hint = _nearest_file(Path(pattern))
            raise UserError(f"no file matches `{pattern}`", where=where, hint=hint)
        for path in map(Path, paths):
            _check_file(path, where)
            found[path] = None
    if not found:
        raise UserError("no file is given", where=where, hint="list paths or globs of .txt, .jsonl")
    return list(found)


def read_files(paths: Iterable[Path], lang: str) -> Iterator[Document]:
    """Stream the documents of files in one language.

    A `.txt` file is one document. A line of a `.jsonl` file is one: `text`, and if given
    `id` and `group`; a document without a group is a group of its own.
    """
    for path in paths:
        empty = True
        read = _read_lines if path.name.endswith((".jsonl", ".jsonl.gz")) else _read_whole
        for document in read(path, lang):
            empty = False
            yield document
        if empty:
            raise UserError("holds no document", where=str(path), hint=_LAYOUT)


def _check_file(path: Path, where: str) -> None:
    if path.is_dir():
        hint = f"write `{path}/*.txt` for the files in it"
        raise UserError(f"`{path}` is a directory", where=where, hint=hint)
    if not path.exists():
        raise UserError(f"there is no file `{path}`", where=where, hint=_nearest_file(path))
    if not path.name.endswith(_KINDS):
        hint = f"text is read from {', '.join(_KINDS)}"
        raise UserError(f"`{path}` is no kind of text file", where=where, hint=hint)
    if path.stat().st_size == 0:
        raise UserError(f"`{path}` is empty", where=where, hint="fill it or leave it out")


def _nearest_file(path: Path) -> str:
    """What to try instead of a path or glob that leads nowhere."""
    folder = path.parent
    while glob.has_magic(str(folder)):
        folder = folder.parent
    if not folder.is_dir():
        return f"there is no directory `{folder}` in `{Path.cwd()}`"
    beside = [file.name for file in folder.iterdir() if file.name.endswith(_KINDS)]
    return nearest(path.name, beside) if beside else f"`{folder}` holds no text file"


def _read_whole(path: Path, lang: str) -> Iterator[Document]:
    with _opened(path) as file:
        data = file.read()
    text = _decode(data, path, line=1).removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.strip():
        raise UserError("is empty", where=str(path), hint="fill it or leave it out")
    yield Document(str(path), lang, text, group=str(path), source=str(path))


def _read_lines(path: Path, lang: str) -> Iterator[Document]:
    with _opened(path) as file:
        for number, data in enumerate(file, start=1):
            line = _decode(data, path, number).removeprefix("\ufeff").strip()
            if line:
                yield _document(line, path, number, lang)


def _document(line: str, path: Path, number: int, lang: str) -> Document:
    where = f"{path}:{number}"
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"is not JSON ({error})", where=where, hint=_LAYOUT) from None
    if not isinstance(row, dict):
        raise UserError("is not a JSON object", where=where, hint=_LAYOUT)
    if "text" not in row:
        raise UserError("has no `text`", where=where, hint=_LAYOUT)
    text = row["text"]
    if not isinstance(text, str) or not text.strip():
        raise UserError("`text` is empty or no string", where=where, hint="leave the line out")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        reason = f"`text` holds half a character ({error.reason}) at {error.start}"
        raise UserError(reason, where=where, hint="write it as UTF-8") from None
    name = _name(row, "id", where) or where
    return Document(
        name, lang, text, _name(row, "group", where) or fingerprint(text), source=str(path)
    )


def _name(row: dict[str, Any], key: str, where: str) -> str | None:
    value = row.get(key)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    raise UserError(f"`{key}` is no string", where=where, hint="write it in quotes")


def _decode(data: bytes, path: Path, line: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        reason = f"is not UTF-8 (byte 0x{data[error.start]:02x})"
        hint = "convert it, for instance with `iconv -f latin1 -t utf-8`"
        raise UserError(reason, where=f"{path}:{line}", hint=hint) from None


@contextmanager
def _opened(path: Path) -> Iterator[BufferedIOBase]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield file
    except (OSError, EOFError, zlib.error) as error:
        hint = "check that it is whole and that you may read it"
        raise UserError(f"cannot be read ({error})", where=str(path), hint=hint) from None
