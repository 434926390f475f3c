"""One stage in a process of its own: `stage.py MODULE:FUNCTION PLACE OUT REHEARSE`."""

import os
import sys
from importlib import import_module
from pathlib import Path

from common import Bench


def main() -> None:
    """Import what the stage needs, wait for the word, and run it."""
    where, place, out, rehearse = sys.argv[1:]
    module, _, function = where.partition(":")
    stage = getattr(import_module(module), function)
    if sys.stdin.readline() != "go\n":
        return  # the one who started this is gone
    bench = Bench(Path(place), Path(out), bool(int(rehearse)))
    stage(bench)
    sys.stdout.flush()
    os._exit(bool(bench.failed))  # threads of compilers would keep it


if __name__ == "__main__":
    main()
