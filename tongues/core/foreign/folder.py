"""The one look at a foreign folder before anything in it is opened, by every verb."""

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tongues.core.beside import read_beside
from tongues.core.errors import UserError
from tongues.core.foreign.process import TextProcess

_LARGEST = {"tokenizer.json": 2**27, "": 2**26}  # bytes; chosen: none has a third of that
_SETTINGS = (".json", ".jinja", ".md", ".txt", ".yaml")
_PARSED = 2**22  # bytes of settings that are read here; a tokenizer is tried in its own process
_ELSEWHERE = "take the model from another place"
# What can hold up or end a process: expressions and replacements, also as escapes spell them.
_RISKS = re.compile(rb'"(Regex|Replace|Precompiled)"|\\u00[4-7]')
_USUAL = [
    b'"Regex":%s' % json.dumps(line, ensure_ascii=False).encode()
    for line in read_beside(__file__, "expressions.toml")["usual"]
]


@contextmanager
def foreign(name: str) -> Iterator[None]:
    """What a library raises on a folder that it does not expect, as a UserError about it."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"cannot be opened ({error!r})", where=name, hint=_ELSEWHERE) from None


def check_foreign(folder: Path) -> None:
    """Refuse pipes, devices, and settings that are too large or nested too deep to be any."""
    try:
        files = [(file, file.stat()) for file in sorted(folder.iterdir()) if file.exists()]
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror})", where=str(folder)) from None
    for file, status in files:
        if stat.S_ISDIR(status.st_mode):
            continue
        if not stat.S_ISREG(status.st_mode):
            raise UserError("is not a regular file", where=str(file), hint=_ELSEWHERE)
        target = file.resolve()
        if target.name != file.name and not target.is_relative_to(_repository(folder.resolve())):
            what = f"is a link out of its folder, to `{target}`"
            raise UserError(what, where=str(file), hint="copy the file there, if it is meant")
        most = _LARGEST.get(file.name, _LARGEST[""])
        if file.suffix in _SETTINGS and status.st_size > most:
            what = f"is not what its name says: it has {status.st_size:,} bytes"
            raise UserError(what, where=str(file), hint=_ELSEWHERE)
        if file.suffix == ".json" and status.st_size <= _PARSED:
            _check_depth(file, status.st_mtime_ns)


def _repository(folder: Path) -> Path:
    """The folder that a model's files are in: in the hub's cache, with those that links lead to."""
    return folder.parents[1] if folder.parent.name == "snapshots" else folder


@cache
def _check_depth(file: Path, changed: int) -> None:
    try:
        json.loads(file.read_bytes())
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror})", where=str(file)) from None
    except RecursionError:
        raise UserError("is nested too deep", where=str(file), hint=_ELSEWHERE) from None
    except ValueError:  # whoever needs it says what is wrong with it
        pass


def check_rules(tokenizer: Path) -> None:
    """Refuse a tokenizer that would hold up or end this process; its file, or the folder with it.

    One with anything but usual rules is tried in a process with limits, once.
    """
    file = tokenizer / "tokenizer.json" if tokenizer.is_dir() else tokenizer
    check_foreign(file.parent)
    if file.is_file():
        rules_of(file)


def rules_of(file: Path) -> TextProcess | None:
    """The process that a tokenizer's rules run in; None where they are usual ones."""
    return _tried(file.resolve(), file.stat().st_mtime_ns, os.getpid())


@cache
def _tried(file: Path, changed: int, process: int) -> TextProcess | None:
    """Once for each state of a file, and in each process: two cannot share what answers them."""
    data = file.read_bytes()
    data = data.replace(b'"Regex": ', b'"Regex":')
    for expression in _USUAL:
        data = data.replace(expression, b"")
    if not _RISKS.search(data):
        return None
    rules = TextProcess(file)
    rules.probe(chat=False)
    return rules
