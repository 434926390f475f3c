"""A step: the state that a folder, recipe, run or model is in, and the command for it."""

import itertools
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tongues.core.beside import read_beside
from tongues.core.quantities import show_seconds

Folder = Literal["nothing_here", "work_inside"]
OfRecipe = Literal["invalid", "no_base", "unsound", "not_prepared", "other_tokens", "renamed"]
Trained = Literal["not_trained", "other_run", "runs_added", "ensembles_missing", "not_measured"]
Ended = Literal["text_alone", "pilot_finished"]
Unfinished = Literal["damaged", "failed", "stopped", "waiting", "running"]
OfStudy = Literal["no_page", "no_law", "law", "loose_law", "one_size"]
Evaluated = Literal["not_evaluated", "evaluated_in_part", "not_scored", "best", "as_good"]
Used = Literal["not_best", "undecided", "exported", "best_is_gone"]
State = Folder | OfRecipe | Trained | Ended | Unfinished | OfStudy | Evaluated | Used

# Why a step is the next one: a sentence for each state.
REASONS: Mapping[str, str] = read_beside(__file__)
COMMAND_OF: Mapping[str, str] = read_beside(__file__, "commands.toml")
UNFINISHED: tuple[Unfinished, ...] = ("damaged", "failed", "stopped", "waiting", "running")
_RANKS = {state: rank for rank, state in enumerate(UNFINISHED)} | {"invalid": 9}  # the last


@dataclass(frozen=True, slots=True)
class Step:
    """One command, and the state that it is next in.

    facts: what the state names, as plain values. place: the recipe, run or study that it is for.
    since: seconds since the epoch, when the place was last changed. seconds: that the command
    takes, where that is known.
    """

    state: State
    command: str
    facts: Mapping[str, object] = field(default_factory=dict)
    place: str = ""
    since: float = 0.0
    seconds: float | None = None

    @property
    def urgency(self) -> int:
        """0 comes first."""
        return _RANKS.get(self.state, len(UNFINISHED))

    @property
    def reason(self) -> str:
        """Why it is the next one."""
        return REASONS[self.state].format(**self.facts)

    @property
    def line(self) -> str:
        """The command, and how long it takes where that is known."""
        takes = f"  (about {show_seconds(self.seconds)})" if self.seconds else ""
        return self.command + takes

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        words = {"state": self.state, "command": self.command, "reason": self.reason}
        times = {"since": self.since, "seconds": self.seconds}
        return words | {"place": self.place, "urgency": self.urgency, **times}


def next_step(state: State, workspace: Path = Path(), **facts: object) -> Step:
    """The step of a state. facts: what it names; paths are quoted for a shell.

    workspace: named behind the command of a verb that works in one.
    """
    shown = {key: quoted(x) if isinstance(x, Path) else x for key, x in facts.items()}
    command = COMMAND_OF[state].format(**shown)
    if workspace != Path():
        command = f"{command} --workspace {quoted(workspace)}"
    return Step(state, command, shown)


def quoted(name: Path | str) -> str:
    """A name as a shell takes it."""
    return shlex.quote(str(name))


def free_place(place: Path) -> Path:
    """A place, or the first of its name and a number, where there is nothing."""
    end = place.suffix if place.suffix in (".json", ".yaml") else ""  # a run's name may have dots
    stem = place.name.removesuffix(end)
    others = (place.with_name(f"{stem}-{count}{end}") for count in itertools.count(2))
    return next(each for each in itertools.chain([place], others) if not each.exists())


def is_run(folder: Path) -> bool:
    """Whether a folder is a run's own."""
    return (folder / "run.json").is_file()
