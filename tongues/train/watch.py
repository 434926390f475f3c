"""A run's own logs, shown by trackio or TensorBoard while it goes on.

What the tracker holds is a copy of `metrics.jsonl`, `evals.jsonl` and `timing.jsonl`: made anew
when a run goes on or goes back, so no step is in it twice.
"""

import importlib.util
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, Protocol

from tongues.errors import UserError
from tongues.files import read_json, write_json

__all__ = ["check_tracker", "tracked"]

_PACKAGES = {"trackio": "trackio", "tensorboard": "tensorboard"}
_NAMES = {
    "metrics.jsonl": {"loss": "train/loss", "rate": "train/rate", "norm": "train/norm"},
    "evals.jsonl": {"loss": "held out/{lang}", "bits_per_byte": "bits per byte/{lang}"},
    "timing.jsonl": {
        "tokens_per_second": "speed/tokens per second",
        "utilization": "speed/utilization",
        "memory": "speed/memory",
    },
}


class _Log(Protocol):
    """Where numbers of steps are shown."""

    def write(self, step: int, numbers: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


def check_tracker(track: str | None) -> None:
    """Refuse a tracker that is not installed, with the line that installs it."""
    if track is not None and importlib.util.find_spec(_PACKAGES[track]) is None:
        hint = f"pip install 'tongues[{track}]'"
        raise UserError(f"`{track}` is not installed", where="train.track", hint=hint)


@contextmanager
def tracked(track: str | None, directory: Path, run: str) -> Iterator[Callable[[], None]]:
    """Hands out a call that brings the tracker up to the logs of the run in `directory`.

    Call it when the logs may have grown, such as once a second; the end of the block calls it
    once more. `run` is the run's name in the store. Without a tracker the call does nothing.
    """
    if track is None:
        yield lambda: None
        return
    trackio = track == "trackio"
    copy = _Copy(
        directory, lambda: _Trackio(directory, run) if trackio else _TensorBoard(directory)
    )
    try:
        yield copy.update
    finally:
        copy.close()


class _Copy:
    """A run's logs copied to a tracker as they grow, and anew when they were cut back."""

    def __init__(self, directory: Path, open_log: Callable[[], _Log]) -> None:
        self._directory, self._open = directory, open_log
        self._log: _Log | None = None
        self._read: dict[str, tuple[int, int]] = {}  # which file (inode) it was, bytes of it copied

    def update(self) -> None:
        """Copy the whole lines that came since the last time."""
        if self._log is None or self._cut_back():
            self.close_log()
            self._log, self._read = self._open(), {}
        rows: dict[int, dict[str, float]] = {}
        for name in _NAMES:
            for row in self._new_rows(name):
                rows.setdefault(row["step"], {}).update(_numbers(name, row))
        for step in sorted(rows):
            self._log.write(step, rows[step])

    def close(self) -> None:
        """Copy the rest and let go."""
        self.update()
        self.close_log()

    def close_log(self) -> None:
        if self._log is not None:
            self._log.close()

    def _cut_back(self) -> bool:
        """Whether a file copied from was replaced by another: a file that grows stays the same."""
        paths = ((self._directory / name, inode) for name, (inode, _) in self._read.items())
        return any(not path.exists() or path.stat().st_ino != inode for path, inode in paths)

    def _new_rows(self, name: str) -> Iterator[dict[str, Any]]:
        path = self._directory / name
        if not path.exists():
            return
        with path.open("rb") as file:
            inode, copied = self._read.get(name, (path.stat().st_ino, 0))
            file.seek(copied)
            whole, newline, _ = file.read().rpartition(b"\n")
            self._read[name] = inode, copied + len(whole) + len(newline)
        yield from (json.loads(line) for line in whole.splitlines())


def _numbers(file: str, row: Mapping[str, Any]) -> dict[str, float]:
    """What a line of a log says, under the names a tracker shows."""
    lang = row.get("lang", "")
    return {
        shown.format(lang=lang): float(row[key])
        for key, shown in _NAMES[file].items()
        if row.get(key) is not None
    }


class _TensorBoard:
    """Event files in the run's own directory, so that a run has its own name there."""

    def __init__(self, directory: Path) -> None:
        from torch.utils.tensorboard.writer import SummaryWriter

        for old in directory.glob("events.out.tfevents.*"):
            old.unlink()
        self._writer = SummaryWriter(str(directory))

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        for name, number in numbers.items():
            self._writer.add_scalar(name, number, step)

    def close(self) -> None:
        self._writer.close()


class _Trackio:
    """A run of trackio's own store, in the project of the run's study."""

    def __init__(self, directory: Path, run: str) -> None:
        import trackio

        study, _, name = run.rpartition("/")
        project, marker = study.replace("/", "-") or "tongues", directory / "trackio.json"
        if marker.exists():
            _forget(**read_json(marker))
        with redirect_stdout(StringIO()):  # standard output is for data
            self._run = trackio.init(project, name, embed=False, auto_log_gpu=False)
        write_json(marker, {"project": project, "run_id": self._run.id})

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        self._run.log(dict(numbers), step=step)

    def close(self) -> None:
        import trackio

        with redirect_stdout(StringIO()):
            trackio.finish()


def _forget(project: str, run_id: str) -> None:
    """Remove what an earlier sitting of this very run left with trackio, if it is there still."""
    import trackio

    try:
        runs = list(trackio.Api().runs(project))
    except ValueError:  # no such project: its store was removed, or is another
        return
    for run in runs:
        if run.id == run_id:
            run.delete()
