"""A tracker that appends each step's numbers to a file of its own."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tongues.train.trackers import Write


class Lines:
    """`lines.jsonl` in the run's directory."""

    name, summary = "lines", "a line of JSON a step"

    def check(self) -> None:
        """It needs nothing."""

    @contextmanager
    def open(self, directory: Path) -> Iterator[Write]:
        """Begin the file anew."""
        with (directory / "lines.jsonl").open("w") as file:
            yield lambda step, numbers: print(json.dumps({"step": step, **numbers}), file=file)


LINES = Lines()
