"""Runs the real command in processes forked from one that holds torch: seconds less each time.

There is one fork server for all processes of tests. Commands, the runs of launchers and all that
these start in turn are forked from it, each with the environment of the process that asked for it.
"""

import json
import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver, spawn
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tongues.core.cores import wait_politely
from tongues.core.ranks import main_left_alone

__all__ = ["Done", "Started", "run_code", "run_command", "run_module", "serve_all", "start_command"]

wait_politely()  # before torch is imported: several processes of tests share the cores
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as ranks have it: numpy is imported here
os.fsync = lambda fd: None  # it is for power cuts, which no test makes

_HELD = ("tests.command", "tongues.verbs.main", "tongues.train.run", "tongues.experts.ensemble")
_HELD += ("tongues.report", "tongues.verbs.recipes", "tongues.evaluate.experts")
_HELD += ("tongues.text.tokens.prepare", "pyarrow.parquet", "tests.warm")
_COMMAND = "from tongues.verbs.main import main; main()"
_SERVER = vars(forkserver)["_forkserver"]
_ADDRESS = ("_forkserver_address", "_forkserver_authkey")  # the latter since Python 3.14
_SHARED = "TONGUES_TESTS_SERVER"  # the address, to processes of tests that this one starts
_about, _prepare = spawn.get_preparation_data, spawn.prepare


def _described(name: str) -> dict[str, Any]:
    """What a new process is given: where the server is, too, and the environment."""
    if name == "ignore":  # the server itself
        return _about(name)
    return _about(name) | {"server": _server(), "environment": dict(os.environ)}


def _server() -> dict[str, Any]:
    """Where the server is, once it is there."""
    _SERVER.ensure_running()
    return {key: value for key, value in vars(_SERVER).items() if key in _ADDRESS}


def _ask(server: dict[str, Any]) -> None:
    """Have new processes asked for at a server that another process started."""
    vars(_SERVER).update(server, ensure_running=lambda: None)


def _begin(data: dict[str, Any]) -> None:
    """Take what was given; the next process is asked for at the same server."""
    os.environ.clear()
    os.environ.update(data.pop("environment"))
    _ask(data.pop("server"))
    _prepare(data)


forkserver.set_forkserver_preload([*_HELD])
for module, name, replacement in (
    (forkserver, "set_forkserver_preload", lambda modules: None),  # no launcher's own
    (spawn, "get_preparation_data", _described),
    (spawn, "prepare", _begin),
):
    setattr(module, name, replacement)
if _SHARED in os.environ:
    shared: dict[str, Any] = json.loads(os.environ[_SHARED])
    key = shared.get(_ADDRESS[1])
    _ask(shared | ({_ADDRESS[1]: bytes.fromhex(key)} if key else {}))
    vars(_SERVER)["_forkserver_alive_fd"] = os.open(os.devnull, os.O_RDONLY)  # ends no server


def serve_all() -> None:
    """Start the server now, also for the processes of tests that this one is about to start."""
    os.environ[_SHARED] = json.dumps(_server(), default=bytes.hex)


@dataclass(frozen=True, slots=True)
class Done:
    """What a command printed, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Started:
    """A command at work."""

    process: BaseProcess
    folder: "TemporaryDirectory[str]"
    joined: bool

    def wait(self) -> Done:
        """Its end."""
        self.process.join()
        assert self.process.exitcode is not None
        place = Path(self.folder.name)
        out, err = (
            (place / name).read_text(encoding="utf-8") if (place / name).exists() else ""
            for name in ("out", "err")
        )
        self.folder.cleanup()
        return Done(self.process.exitcode, out, err)


def start_command(
    words: Sequence[str | Path],
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    joined: bool = False,
    code: str = _COMMAND,
) -> Started:
    """Start `tongues WORDS…` in a folder; joined: standard error goes to standard output."""
    place: TemporaryDirectory[str] = TemporaryDirectory()
    streams = Path(place.name, "out"), Path(place.name, "out" if joined else "err")
    given = [str(word) for word in words], folder or Path.cwd(), dict(environment or os.environ)
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=_run, args=(*given, *streams, code))
    with main_left_alone():
        process.start()
    return Started(process, place, joined)


def run_command(
    words: Sequence[str | Path],
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    joined: bool = False,
) -> Done:
    """Run `tongues WORDS…` in a folder; joined: standard error goes to standard output."""
    return start_command(words, folder, environment, joined=joined).wait()


def run_code(code: str, folder: Path, environment: Mapping[str, str]) -> Done:
    """Run `python -c CODE` in a folder."""
    return start_command((), folder, environment, code=code).wait()


def run_module(module: str, words: Sequence[str | Path] = ()) -> Done:
    """Run `python -m MODULE WORDS…`."""
    code = f"import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    return start_command(words, code=code).wait()


def _run(
    words: list[str], folder: Path, environment: dict[str, str], out: Path, err: Path, code: str
) -> None:
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.argv = ["tongues", *words]
    exec(compile(code, "<code>", "exec"), {"__name__": "__main__"})
