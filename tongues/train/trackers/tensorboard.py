"""TensorBoard: event files in the run's own directory."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tongues.core.extras import require
from tongues.train.trackers.tracker import TRACKERS, Write


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


TRACKERS.add(TensorBoard())
