"""Runs the real command in a process forked from one that holds torch: seconds less each time."""

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tongues.ranks import main_left_alone

__all__ = ["Done", "run_command"]

_HELD = ("tongues.cli.main", "tongues.train.run", "tongues.experts.ensemble", "tongues.report")
_SERVER = multiprocessing.get_context("forkserver")


@dataclass(frozen=True, slots=True)
class Done:
    """What a command printed, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


def run_command(
    words: Sequence[str | Path],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    joined: bool = False,
) -> Done:
    """`tongues WORDS…` in a folder; joined: standard error goes to standard output."""
    _SERVER.set_forkserver_preload([*_HELD])
    with TemporaryDirectory() as place:
        out, err = Path(place, "out"), Path(place, "out" if joined else "err")
        arguments = ([str(word) for word in words], folder, dict(environment or os.environ))
        process = _SERVER.Process(target=_run, args=(*arguments, out, err))
        with main_left_alone():
            process.start()
        process.join()
        assert process.exitcode is not None
        texts = [path.read_text(encoding="utf-8") for path in (out, err)]
        return Done(process.exitcode, texts[0], "" if joined else texts[1])


def _run(words: list[str], folder: Path, environment: dict[str, str], out: Path, err: Path) -> None:
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.argv = ["tongues", *words]
    from tongues.cli.main import main

    main()
