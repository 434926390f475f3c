"""A run's own logs, shown by TensorBoard during training.

The event files hold a copy of `metrics.jsonl`, `evals.jsonl` and `timing.jsonl`, written again when
a run resumes or rolls back, so no step is in them twice.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tongues.extras import require

__all__ = ["check_tracker", "tracked"]

_SHOWN = {  # the name of each number in a tracker
    "metrics.jsonl": {
        "loss": "train/loss",
        "learning_rate": "train/learning_rate",
        "norm": "train/norm",
    },
    "evals.jsonl": {"loss": "held out/{lang}", "bits_per_byte": "bits per byte/{lang}"},
    "timing.jsonl": {
        "tokens_per_second": "speed/tokens per second",
        "utilization": "speed/utilization",
        "memory": "speed/memory",
    },
}

Write = Callable[[int, dict[str, float]], None]  # the numbers of a step


def check_tracker(track: str | None) -> None:
    """Refuse a tracker that is not installed, with the line that installs it."""
    if track is not None:
        require(track, "train.track")


@contextmanager
def tracked(track: str | None, directory: Path) -> Iterator[Callable[[], None]]:
    """Hands out a call that brings the tracker up to the logs of the run in `directory`.

    Call it when the logs may have grown, such as once a second; the end of the block calls it
    once more. Without a tracker the call does nothing.
    """
    if track is None:
        yield lambda: None
        return
    with _Copy(directory) as copy:
        try:
            yield copy.update
        finally:
            copy.update()


class _Copy(ExitStack):
    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory
        self._write: Write | None = None
        self._read: dict[str, tuple[int, int]] = {}  # which file (inode) it was, bytes of it copied

    def update(self) -> None:
        if self._write is None or self._cut_back():
            self.close()
            self._write = self.enter_context(_tensorboard(self._directory))
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


@contextmanager
def _tensorboard(directory: Path) -> Iterator[Write]:
    from torch.utils.tensorboard.writer import SummaryWriter

    for old in directory.glob("events.out.tfevents.*"):
        old.unlink()
    with SummaryWriter(str(directory)) as writer:

        def write(step: int, numbers: dict[str, float]) -> None:
            for name, number in numbers.items():
                writer.add_scalar(name, number, step)

        yield write
