"""What comes next in a folder."""

from pathlib import Path

from tongues.steps import Step, steps_in
from tongues.verbs.shared import existing_folder


def next_steps(folder: Path | str = ".") -> list[Step]:
    """The next step of every recipe, run and study of a folder, the most urgent first, with why.

    Each step has a `command`, a `reason` and the `place` that it is for.
    """
    return steps_in(existing_folder(folder))
