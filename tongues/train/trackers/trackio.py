"""Trackio: runs in its own local database, which `trackio show` draws."""

from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path

from tongues.extras import require
from tongues.train.trackers.tracker import TRACKERS, Write, settings_of

__all__ = ["Trackio"]

_PROJECT = "tongues"


class Trackio:
    """Local, in `TRACKIO_DIR`, unless `TRACKIO_SPACE_ID` or `TRACKIO_SERVER_URL` is set."""

    name, summary = "trackio", "Trackio; local unless `TRACKIO_SPACE_ID` is set"

    def check(self) -> None:
        """Its package is there."""
        require("trackio", "train.track")

    @contextmanager
    def open(self, directory: Path) -> Iterator[Write]:
        """Begin a run; an earlier local one of the same directory is removed."""
        with redirect_stdout(StringIO()):  # standard output is for data
            import trackio

            place = str(directory.absolute())
            with suppress(ValueError):  # there is no project yet
                for old in trackio.Api().runs(_PROJECT):
                    if (old.config or {}).get("directory") == place:
                        old.delete()
            settings = {**settings_of(directory), "directory": place}
            run = trackio.init(_PROJECT, name=directory.name, config=settings, embed=False)
        try:
            yield lambda step, numbers: run.log(numbers, step=step)
        finally:
            with redirect_stdout(StringIO()):
                trackio.finish()


TRACKERS.add(Trackio())
