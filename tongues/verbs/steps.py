"""What comes next in a folder."""

from pathlib import Path

from tongues.errors import UserError
from tongues.steps import Step, steps_in

__all__ = ["next_steps"]


def next_steps(folder: Path | str = ".") -> list[Step]:
    """The next step of every recipe, run and study of a folder, the most urgent first, with why.

    Each step has a `command`, a `reason` and the `place` that it is for.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UserError("is not a folder", where=str(folder), hint="name the folder of the recipes")
    return steps_in(folder)
