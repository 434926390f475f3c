"""A step, and what is needed to write one: names for a shell, places, what was trained."""

import itertools
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tongues.files import changed_at
from tongues.recipe import Recipe, results_name
from tongues.runs import find_runs

if TYPE_CHECKING:
    from tongues.evaluate.evaluation import Evaluation

__all__ = ["LAST", "URGENT", "Evaluated", "Step", "free_place", "is_run", "last_trained"]
__all__ += ["newest_evaluations", "quoted", "runs_of"]

URGENT = ("damaged", "failed", "stopped", "waiting", "running")  # states, and what comes first
LAST = len(URGENT) + 1  # of what nothing else waits for, such as a recipe with a mistake
Evaluated: TypeAlias = "Mapping[tuple[str, str], Evaluation]"  # by run and fingerprint


@dataclass(frozen=True, slots=True)
class Step:
    """One command, and why it is the next one.

    place: the recipe, run or study that it is for. urgency: 0 comes first. since: seconds since
    the epoch, when the place was last changed.
    """

    command: str
    reason: str
    place: str = ""
    urgency: int = len(URGENT)
    since: float = 0.0


def quoted(name: Path | str) -> str:
    """A name as a shell takes it."""
    return shlex.quote(str(name))


def free_place(place: Path) -> Path:
    """A place, or the first of its name and a number, where there is nothing."""
    end = place.suffix if place.suffix in (".json", ".yaml") else ""  # a run's name may have dots
    stem = place.name.removesuffix(end)
    others = (place.with_name(f"{stem}-{count}{end}") for count in itertools.count(2))
    return next(each for each in itertools.chain([place], others) if not each.exists())


def runs_of(recipe: Recipe, workspace: Path) -> Path:
    """The folder of a recipe's run, or of its runs."""
    return workspace / "runs" / results_name(recipe)


def is_run(folder: Path) -> bool:
    """Whether a folder is a run's own."""
    return (folder / "run.json").is_file()


def last_trained(folder: Path) -> float:
    """When its newest run ended, or began."""
    runs = find_runs([folder]) if folder.is_dir() else []
    return max((changed_at(run / "run.json") for run in runs), default=0.0)


def newest_evaluations(workspace: Path) -> Evaluated:
    """The newest evaluation of every run, as far as these can be read.

    Where experts were measured, a run was only what they are compared with, and none counts.
    """
    from tongues.evaluate.kept import kept_evaluations

    found: dict[tuple[str, str], Evaluation] = {}
    for _, evaluation in kept_evaluations(workspace):
        models = () if evaluation.experts else evaluation.models
        for trained in filter(None, (model.trained for model in models)):
            found.setdefault((trained.run, trained.fingerprint), evaluation)
    return found
