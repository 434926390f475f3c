"""A step: one command and a reason, by the state of a folder, a recipe, a run or a model."""

import itertools
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# By state: the command, and why it is next. Names in braces are the values of `next_step`.
_STEPS: Mapping[str, tuple[str, str]] = {
    # a folder
    "nothing here": ("tongues new", "there is no recipe here; it asks, and writes one"),
    "work inside": ("tongues next {folder}", "there is no recipe here; runs are in that folder"),
    # a recipe
    "invalid": ("tongues check {recipe}", "{why}"),
    "no base": ("tongues check {recipe}", "the base that it continues from is to be named"),
    "no text": ("tongues {verb} {recipe}", "{why}"),
    "not prepared": ("tongues prepare {recipe}", "its text is not prepared yet"),
    "other tokens": ("tongues prepare {recipe} --overwrite", "its tokens were {why}"),
    "renamed": ("tongues prepare {recipe}", "{before} was trained with other settings"),
    "text alone": ("tongues report {corpus}", "its text is prepared: the page shows what was kept"),
    "not trained": ("{train}", "its text is prepared, and nothing is trained yet"),
    "other run": ("{train}", "{before} was trained with other settings"),
    "runs added": ("{train}", "{count} of {of} runs are not trained yet"),
    "ensembles missing": ("{train}", "{count} of {ensembles} ensembles are written"),
    "pilot finished": ("tongues report {folder}", "the pilot is finished"),
    "not measured": ("tongues experts measure {recipe}", "the ensembles are not measured"),
    # runs
    "damaged": ("tongues ls {folder}", "{run}: {why}"),
    "failed": ("{train}", "{run} failed: {why}"),
    "stopped": ("{train}", "{run} stopped at step {step} of {steps}"),
    "waiting": ("{train}", "{run} is not begun"),
    "running": ("tongues ls {folder}", "{run} is in training"),
    "no page": ("tongues report {folder}", "it is trained, and its page is not written"),
    # studies
    "no law": ("tongues fit {folder} -o {law}", "its runs are finished; no law is fitted"),
    "law": ("{plan}", "there is a law of its runs: plan by it, for the compute that you have"),
    "loose law": ("{train} {more}", "its runs do not pin its law down: train more, and fit again"),
    "one size": ("{train} {more}", "its runs are of one size, and laws need several: train more"),
    # models
    "not evaluated": (
        "tongues evaluate {model} --text {text} --compare",
        "{name} is not evaluated",
    ),
    "evaluated in part": (
        "tongues evaluate {model} --text {text} --compare",
        "{name} was evaluated with `--limit {limit}`, too little to choose a model by",
    ),
    "not scored": ("tongues export {model} -o {out}", "{name} has no text here to be evaluated on"),
    "best": ("tongues export {model} -o {out}", "{name} is the best by its evaluation"),
    "as good": (
        "tongues export {model} -o {out}",
        "{name} is the best by its page, without a significant difference to dense",
    ),
    "not best": ("tongues generate {model}", "`{best}` is better: try {name} before it is used"),
    "undecided": (
        "tongues generate {model}",
        "{name} is evaluated, and no model is significantly better: try it",
    ),
    "exported": ("tongues generate {folder}", "{name} is exported: try it"),
    "best is gone": ("tongues ls {folder}", "no ensemble of the best partition is here"),
}
_URGENT = ("damaged", "failed", "stopped", "waiting", "running")  # what comes first
_LAST = ("invalid",)


@dataclass(frozen=True, slots=True)
class Step:
    """One command, and why it is the next one.

    place: the recipe, run or study that it is for. urgency: 0 comes first. since: seconds since
    the epoch, when the place was last changed.
    """

    command: str
    reason: str
    place: str = ""
    urgency: int = len(_URGENT)
    since: float = 0.0


def next_step(state: str, workspace: Path = Path(), **values: object) -> Step:
    """The step of a state. values: what it names; paths are quoted for a shell.

    workspace: named behind the command of a verb that works in one.
    """
    shown = {key: quoted(x) if isinstance(x, Path) else x for key, x in values.items()}
    command, reason = (words.format(**shown) for words in _STEPS[state])
    if workspace != Path():
        command += f" --workspace {quoted(workspace)}"
    ranks = {name: rank for rank, name in enumerate(_URGENT)} | dict.fromkeys(_LAST, 9)
    return Step(command, reason, urgency=ranks.get(state, len(_URGENT)))


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
