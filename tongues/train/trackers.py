"""A run's own logs, copied to a tracker such as TensorBoard during training.

A tracker holds a copy of `metrics.jsonl`, `evals.jsonl` and `timing.jsonl`, written again when a
run resumes or rolls back, so no step is in it twice. Other packages add theirs by an entry point.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from tongues.core.beside import read_beside
from tongues.core.extras import require
from tongues.core.files import read_json
from tongues.core.registry import Registry

Write = Callable[[int, dict[str, float]], None]  # the numbers of a step

_SHOWN: dict[str, dict[str, str]] = read_beside(__file__, "trackers.toml")


class Tracker(Protocol):
    """Keeps the curves of runs; each built-in one needs an extra."""

    @property
    def name(self) -> str:
        """The value of `train.track`."""
        ...

    @property
    def summary(self) -> str:
        """One sentence for help and docs."""
        ...

    def check(self) -> None:
        """Refuse before training where it cannot work, such as without its package."""
        ...

    def open(self, directory: Path) -> AbstractContextManager[Write]:
        """Begin an empty copy of the run in `directory`, in place of an earlier one.

        Steps come in any order, and the numbers of a step in parts. It makes no network requests
        unless the user's environment asks for it. What it raises ends the copy, not the run.
        """
        ...


TRACKERS: Registry[Tracker] = Registry("tracker", "tongues.trackers")


class TensorBoard:
    """`tensorboard --logdir runs` shows all of them."""

    name, summary = "tensorboard", "event files for TensorBoard in the run's directory"

    def check(self) -> None:
        """Its package is there."""
        require("tensorboard", "train.track")

    @contextmanager
    def open(self, directory: Path) -> Iterator[Write]:
        """Write new event files and remove those of before."""
        from torch.utils.tensorboard.writer import SummaryWriter

        for old in directory.glob("events.out.tfevents.*"):
            old.unlink()
        with SummaryWriter(str(directory)) as writer:

            def write(step: int, numbers: dict[str, float]) -> None:
                for name, number in numbers.items():
                    writer.add_scalar(name, number, step)

            yield write


class WeightsAndBiases:
    """Offline, unless `WANDB_MODE` says otherwise; `WANDB_PROJECT` names the project."""

    name, summary = "wandb", "Weights & Biases; offline unless `WANDB_MODE=online`"

    def check(self) -> None:
        """Its package is there."""
        require("wandb", "train.track")

    @contextmanager
    def open(self, directory: Path) -> Iterator[Write]:
        """Begin a run; an earlier offline one is removed, an earlier online one is kept there."""
        if os.environ.setdefault("WANDB_MODE", "offline") != "online":
            os.environ["WANDB_ERROR_REPORTING"] = "false"  # wandb would send its crashes
        import wandb

        shutil.rmtree(directory / "wandb", ignore_errors=True)
        record = directory / "run.json"
        run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "tongues"),
            name=directory.name,
            dir=directory,
            config=read_json(record) if record.is_file() else {},
            settings=wandb.Settings(silent=True, console="off", disable_git=True),
        )
        run.define_metric("*", step_metric="step")  # its own steps only go forward
        try:
            yield lambda step, numbers: run.log({"step": step, **numbers})
        finally:
            run.finish()


for _tracker in (TensorBoard(), WeightsAndBiases()):
    TRACKERS.add(_tracker)


@contextmanager
def tracked(
    track: str | None, directory: Path, tell: Callable[[str], None]
) -> Iterator[Callable[[], None]]:
    """Hands out a call that brings the tracker up to the logs of the run in `directory`.

    Call it when the logs may have grown, such as once a second; the end of the block calls it
    once more. Without a tracker the call does nothing. A tracker that fails is reported and left
    alone from then on; the run continues.
    """
    if track is None:
        yield lambda: None
        return
    copy = _Copy(TRACKERS.find(track), directory, tell)
    try:
        yield copy.update
    finally:
        copy.update()
        copy.end()


class _Copy:
    def __init__(self, tracker: Tracker, directory: Path, tell: Callable[[str], None]) -> None:
        self._tracker, self._directory, self._tell = tracker, directory, tell
        self._opened = ExitStack()
        self._write: Write | None = None
        self._read: dict[str, tuple[int, int]] = {}  # which file (inode) it was, bytes of it copied
        self._failed = False

    def update(self) -> None:
        self._guarded(self._copy)

    def end(self) -> None:
        self._guarded(self._opened.close)

    def _guarded(self, act: Callable[[], None]) -> None:
        """Whatever another program raises must not end the run."""
        if self._failed:
            return
        try:
            act()
        except Exception as error:
            self._failed = True
            with suppress(Exception):
                self._opened.close()
            self._tell(
                f"{self._tracker.name} failed and is left alone; the run continues "
                f"({type(error).__name__}: {error})"
            )

    def _copy(self) -> None:
        if self._write is None or self._cut_back():
            self._opened.close()
            self._write = self._opened.enter_context(self._tracker.open(self._directory))
            self._read = {}
        steps: dict[int, dict[str, float]] = {}
        for name, shown in _SHOWN.items():
            for row in self._new_rows(name):
                steps.setdefault(row["step"], {}).update(
                    (label.format(lang=row.get("lang", "")), float(row[key]))
                    for key, label in shown.items()
                    if row.get(key) is not None
                )
        for step in sorted(steps):
            self._write(step, steps[step])

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
            complete, newline, _ = file.read().rpartition(b"\n")
            self._read[name] = inode, copied + len(complete) + len(newline)
        yield from (json.loads(line) for line in complete.splitlines())
