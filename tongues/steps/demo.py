"""The next step of a demo that is not finished: its own command, not that of its recipe."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tongues.errors import UserError
from tongues.files import changed_at, write_text
from tongues.steps.step import URGENT, Step, quoted

__all__ = ["DEMO", "demo_begun", "step_of_demo"]

_COMMAND = ".demo"  # in its folder until it is finished: the command
DEMO = Path("demo")  # where it works by default
_WRONG_USE = 2  # exit code


@contextmanager
def demo_begun(workspace: Path, *words: object) -> Iterator[None]:
    """Have `next` name the command until the block ends; words: of the command, after `demo`."""
    file = workspace / _COMMAND
    write_text(file, shlex.join(["tongues", "demo", *map(str, words)]))
    try:
        yield
    except UserError as error:
        if error.exit_code == _WRONG_USE:  # the same command would be refused again
            file.unlink(missing_ok=True)
        raise
    file.unlink(missing_ok=True)


def step_of_demo(workspace: Path) -> Step | None:
    """Run it again, where it is not finished."""
    file = workspace / _COMMAND
    if not file.is_file():
        return None
    command = file.read_text(encoding="utf-8")
    command += "" if workspace == DEMO else f" --workspace {quoted(workspace)}"
    urgency = URGENT.index("running")  # after its runs that are at work now
    reason = "the demo is not finished; it resumes"
    return Step(command, reason, str(workspace), urgency, changed_at(file))
