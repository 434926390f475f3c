"""All units of an evaluation, model after model; what was done before is not done again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.evaluate.tasks import Exam, ItemFault, Normalisation
from tongues.evaluate.tasks.items import Unfitting
from tongues.evaluate.tasks.score import fitted, score_task
from tongues.evaluate.texts import Policy, resolved
from tongues.evaluate.texts.scored import text_losses
from tongues.evaluate.units import Unit, keep_unit, read_unit
from tongues.experts.ensemble.model import Model, find_model, open_model, place_of, seed_of
from tongues.files import fingerprint
from tongues.roles import Roles
from tongues.runs import read_run
from tongues.text import Document

__all__ = ["About", "Asked", "Trained", "evaluate", "with_seeds"]

_BROKEN = "its weights are broken"


@dataclass(frozen=True, slots=True)
class Asked:
    """What models are asked: texts by name and language, and tasks by name and language."""

    texts: Mapping[str, Mapping[str, Sequence[Document]]] = field(default_factory=dict)
    exams: Mapping[str, Mapping[str, Exam]] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    normalisation: Normalisation | None = None  # None: each task's own
    unfit: Unfitting = "skip"
    faults: Sequence[ItemFault] = ()  # what is no document of the texts, or no model

    def units(self, subject: str) -> list[Unit]:
        """All that one model is asked."""
        texts = [Unit(subject, name, lang) for name, by in self.texts.items() for lang in by]
        return texts + [
            Unit(subject, name, lang, len(demonstrations), draw)
            for name, by in self.exams.items()
            for lang, exam in by.items()
            for draw, demonstrations in enumerate(exam.demonstrations)
        ]

    def pmi(self, task: str) -> bool:
        """Whether a task's choices are scored standing alone too."""
        exam = next(iter(self.exams[task].values()))
        return (self.normalisation or exam.task.normalisation) == "pmi"


@dataclass(frozen=True, slots=True)
class Trained:
    """How a run came to be, as its record says."""

    run: str
    fingerprint: str
    strategy: str
    roles: Roles
    shape: str
    params: int
    tokens: int
    seed: int


@dataclass(frozen=True, slots=True)
class About:
    """What a model is, as far as its numbers depend on it."""

    name: str
    kind: str
    seed: str | None
    routing: str
    experts: int
    context: int | None
    first: str | None  # the token that stands before every text
    prompted: bool  # and before the prompts of tasks too
    tokenizer: str  # SHA-256: perplexities compare where it is the same
    trained: Trained | None  # None where it is no run
    fingerprint: str


def evaluate(
    models: Sequence[str],
    asked: Asked,
    workspace: Path,
    folder: Path,
    *,
    memory: int | None = None,
    watch: Callable[..., None] = lambda share, *words: None,
) -> tuple[list[About], Asked, dict[Unit, dict[str, Any]]]:
    """Ask every model everything, and keep each answer in `folder` as soon as it is there.

    memory: bytes of weights to hold at most, of an ensemble. watch: is told the share done and, in
    words, what is under way. Returns what the models are, what they were asked, with other items in
    the place of those that one cannot be asked where not all were wanted, and what each unit found.
    A model that is amiss, or sees less than a window, is a UserError before anything is scored. One
    that predicts what is not a number is left out, and told among the faults; where it is the only
    one left, it is a UserError.
    """
    subjects = [open_model(name, workspace, max_memory=memory) for name in models]
    for subject in subjects if asked.texts else ():
        resolved(asked.policy, subject.ensemble.context, f"`{subject.name}`")
    asked = _fitted(asked, subjects)
    about = [_about(subject, subjects, workspace) for subject in subjects]
    found: dict[Unit, dict[str, Any]] = {}
    broken: dict[str, ItemFault] = {}
    for place, name in enumerate(models):
        subject = subjects.pop(0)  # let go of once it is asked

        def tell(share: float, *words: str, place: int = place) -> None:
            watch((place + share) / len(models), *words)

        try:
            found |= _asked_all(subject, asked, folder, tell)
        except _NoNumberError as error:
            broken[name] = ItemFault(name, str(error), "predicts what is not a number", _BROKEN)
    watch(1.0)
    about = [one for one in about if one.name not in broken]
    if not about:
        fault = next(iter(broken.values()))
        raise UserError(f"{fault.reason}, {fault.place}", where=fault.source, hint=fault.sample)
    return about, replace(asked, faults=(*asked.faults, *broken.values())), found


def _asked_all(
    subject: Model, asked: Asked, folder: Path, watch: Callable[..., None]
) -> dict[Unit, dict[str, Any]]:
    """All units of one model, those that were done before as they were kept."""
    found: dict[Unit, dict[str, Any]] = {}
    units = asked.units(subject.name)
    for number, unit in enumerate(units):
        share, what = number / len(units), _words(unit)
        watch(share, what)
        made_from = _made_from(subject, asked, unit)
        kept = read_unit(folder, unit, made_from)
        if kept is None:
            kept = _ask(subject, asked, unit, partial(watch, share, what))
            keep_unit(folder, unit, made_from, kept)
        found[unit] = kept
    return found


def _words(unit: Unit) -> str:
    return f"{unit.subject} {unit.what} {unit.language}"


def _fitted(asked: Asked, subjects: Sequence[Model]) -> Asked:
    """With as many items as are wanted of those that all subjects can be asked."""
    exams = {
        name: {lang: fitted(exam, subjects, unfit=asked.unfit) for lang, exam in by.items()}
        for name, by in asked.exams.items()
    }
    return replace(asked, exams=exams)


def _ask(subject: Model, asked: Asked, unit: Unit, tell: Callable[[str], None]) -> dict[str, Any]:
    """One unit's work."""
    if unit.shots is None:
        documents = asked.texts[unit.what][unit.language]
        losses = text_losses(subject, documents, asked.policy, tell=tell)
        _check(unit, losses.nats)
        told = {name: getattr(losses, name) for name in ("nats", "tokens", "bytes", "missing")}
        columns = {name: column.tolist() for name, column in told.items()}
        return {"ids": losses.ids, "segments": losses.segments, **columns}
    answers = score_task(
        subject,
        asked.exams[unit.what][unit.language],
        unit.draw,
        unconditional=asked.pmi(unit.what),
        unfit=asked.unfit,
        tell=tell,
    )
    sums = (of for one in answers.scores for of in (*one.sums, *(one.unconditional or ())))
    _check(unit, np.array(list(sums)))
    return {
        "scores": [asdict(score) for score in answers.scores],
        "faults": [asdict(fault) for fault in answers.faults],
    }


class _NoNumberError(Exception):
    """A model that diverged is no model: of what is not a number nothing can be told."""


def _check(unit: Unit, found: np.ndarray) -> None:
    if not np.isfinite(found).all():
        raise _NoNumberError(f"in `{unit.what}`, `{unit.language}`")


def _made_from(subject: Model, asked: Asked, unit: Unit) -> str:
    """The fingerprint of all that a unit's numbers depend on."""
    if unit.shots is None:
        documents = asked.texts[unit.what][unit.language]
        read = [(document.id, document.group, document.text) for document in documents]
        return fingerprint([subject.fingerprint, asdict(asked.policy), unit.language, read])
    exam = asked.exams[unit.what][unit.language]
    of_task = [exam.fingerprint(unit.draw), asked.pmi(unit.what), asked.unfit]
    return fingerprint([subject.fingerprint, unit.language, *of_task])


def _about(subject: Model, subjects: Sequence[Model], workspace: Path) -> About:
    ensemble = subject.ensemble
    return About(
        name=subject.name,
        kind=subject.kind,
        seed=_seed(subject, subjects, workspace),
        routing=str(subject.routing) if ensemble.k > 1 else "",
        experts=ensemble.k,
        context=ensemble.context,
        first=subject.tokenizer.id_to_token(subject.first),
        prompted=subject.prompted,
        tokenizer=ensemble.lineage.tokenizer_sha256,
        trained=_trained(subject.name, workspace) if subject.kind == "run" else None,
        fingerprint=subject.fingerprint,
    )


def _seed(subject: Model, subjects: Sequence[Model], workspace: Path) -> str | None:
    """What a model began with, by the name that the user gave it if it is evaluated too."""
    if subject.seed is None or seed_of(subject.name, workspace) is None:
        return subject.seed
    place = place_of(subject.seed, workspace)
    said = (one.name for one in subjects if place_of(one.name, workspace) == place)
    return next(said, subject.seed)


def _trained(name: str, workspace: Path) -> Trained:
    record = read_run(find_model(name, workspace)[1])
    return Trained(
        run=record.run,
        fingerprint=record.fingerprint,
        strategy=record.strategy,
        roles=record.roles,
        shape=record.shape,
        params=record.params["total"],
        tokens=record.tokens,
        seed=record.seed,
    )


def with_seeds(models: Sequence[str], workspace: Path) -> list[str]:
    """The models, each once, and behind them the runs that they began with, if they are there."""
    named: dict[tuple[Path, str | None], str] = {}
    for name in models:
        place = place_of(name, workspace)
        if place in named:
            also = "" if named[place] == name else f", as `{named[place]}` too"
            raise UserError(f"`{name}` is named twice{also}", hint="name each model once")
        named[place] = name
    for name in models:
        seed = seed_of(name, workspace)
        if seed is not None:
            named.setdefault(place_of(seed, workspace), seed)
    return list(named.values())
