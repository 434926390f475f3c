"""All units of an evaluation, model after model; what was done before is not done again."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np

from tongues.errors import UserError
from tongues.evaluate.evaluation import EvaluatedModel, Trained
from tongues.evaluate.tasks import Exam, ItemFault, Normalisation
from tongues.evaluate.tasks.items import Unfitting
from tongues.evaluate.tasks.score import Answers, fitted, score_task
from tongues.evaluate.texts import DocumentLosses, Policy, resolved
from tongues.evaluate.texts.scored import routed_losses
from tongues.evaluate.units import Unit, keep_unit, read_unit
from tongues.experts.ensemble.model import Model, find_model, open_models, place_of, seed_of
from tongues.files import fingerprint
from tongues.jsonable import from_plain
from tongues.runs import read_run
from tongues.text import Document

__all__ = ["Asked", "Results", "evaluate", "with_bases"]

_BROKEN = "its weights are broken"


@dataclass(frozen=True, slots=True)
class Asked:
    """What models are asked: texts by name and language, and tasks by name and language."""

    texts: Mapping[str, Mapping[str, Sequence[Document]]] = field(default_factory=dict)
    exams: Mapping[str, Mapping[str, Exam]] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    normalisation: Normalisation | None = None  # None: each task's own
    unfit: Unfitting = "skip"
    faults: Sequence[ItemFault] = ()  # what is not a document of the texts, or not a model
    unknown: Mapping[str, Collection[str]] = field(default_factory=dict)  # languages, by model

    def units(self, subject: str) -> list[Unit]:
        """All that one model is asked."""
        unknown = self.unknown.get(subject, ())
        texts = [
            Unit(subject, name, lang)
            for name, by in self.texts.items()
            for lang in by
            if lang not in unknown
        ]
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
class Results:
    """What was done: the models, what they were asked, and what each unit gave."""

    models: Sequence[EvaluatedModel]
    asked: Asked
    texts: Mapping[Unit, DocumentLosses]
    answers: Mapping[Unit, Answers]


def evaluate(
    models: Sequence[str],
    asked: Asked,
    workspace: Path,
    folder: Path,
    *,
    memory: int | None = None,
    watch: Callable[..., None] = lambda share, *words: None,
) -> Results:
    """Score every model on everything, and keep each result in `folder` as soon as it is there.

    memory: bytes of weights to hold at most, of an ensemble. watch: is given the share done and, in
    words, what is under way. Routings of one ensemble that are named one after the other share what
    its experts read. The results have other items in the place of those that one model cannot be
    asked where not all were wanted. A model that cannot be opened, or sees less than a window, is a
    UserError before anything is scored. One that produces NaN is left out, and told among the
    faults; where no other is left, it is a UserError.
    """
    subjects = open_models(models, workspace, max_memory=memory)
    for subject in subjects if asked.texts else ():
        resolved(asked.policy, subject.ensemble.context, f"`{subject.name}`")
    asked = _fitted(asked, subjects)
    about = [_model(subject, subjects, workspace) for subject in subjects]
    groups = [list(group) for _, group in groupby(subjects, key=lambda one: id(one.ensemble))]
    subjects.clear()
    texts: dict[Unit, DocumentLosses] = {}
    answers: dict[Unit, Answers] = {}
    broken: dict[str, ItemFault] = {}
    while groups:
        group = groups.pop(0)  # the ensemble is let go of once it is scored
        before = sum(len(left) for left in groups) + len(group)

        def tell(share: float, *words: str, left: int = before, own: int = len(group)) -> None:
            watch((len(models) - left + share * own) / len(models), *words)

        for unit, result in _scored(group, asked, folder, tell):
            if isinstance(result, ItemFault):
                broken.setdefault(unit.subject, result)
            elif isinstance(result, DocumentLosses):
                texts[unit] = result
            else:
                answers[unit] = result
    watch(1.0)
    about = [one for one in about if one.name not in broken]
    if not about:
        fault = next(iter(broken.values()))
        raise UserError(f"{fault.reason}, {fault.place}", where=fault.source, hint=fault.sample)
    asked = replace(asked, faults=(*asked.faults, *broken.values()))
    return Results(about, asked, texts, answers)


def _scored(
    group: Sequence[Model], asked: Asked, folder: Path, watch: Callable[..., None]
) -> Iterator[tuple[Unit, DocumentLosses | Answers | ItemFault]]:
    """All units of one ensemble by its routings; a fault for a model that produces NaN."""
    named = {subject.name: subject for subject in group}
    units: dict[Unit, list[Unit]] = {}  # by what is the same for all routings
    for unit in (unit for name in named for unit in asked.units(name)):
        units.setdefault(replace(unit, subject=""), []).append(unit)
    for number, alike in enumerate(units.values()):
        each = [unit for unit in alike if unit.subject in named]
        if not each:
            continue
        share, what = number / len(units), f"{each[0].subject} {each[0].what} {each[0].language}"
        watch(share, what)
        made_from = {unit: _made_from(named[unit.subject], asked, unit) for unit in each}
        kept = {unit: read_unit(folder, unit, made_from[unit]) for unit in each}
        wanted = [unit for unit in each if kept[unit] is None and unit.subject in named]
        routed = [named[unit.subject] for unit in wanted]
        new = dict(
            zip(wanted, _ask(routed, asked, wanted, partial(watch, share, what)), strict=True)
        )
        for unit in each:
            if (plain := kept[unit]) is not None:
                losses = unit.shots is None
                yield (
                    unit,
                    DocumentLosses.from_json(plain) if losses else from_plain(Answers, plain),
                )
            elif unit in new and _finite(new[unit]):
                keep_unit(folder, unit, made_from[unit], new[unit])
                yield unit, new[unit]
            else:
                del named[unit.subject]  # it is asked nothing more
                place = f"in `{unit.what}`, `{unit.language}`"
                why = "predicts what is not a number"
                yield unit, ItemFault(unit.subject, place, why, _BROKEN)


def _ask(
    subjects: Sequence[Model], asked: Asked, units: Sequence[Unit], tell: Callable[[str], None]
) -> Sequence[DocumentLosses | Answers]:
    """The work of units of one ensemble that differ by the routing alone."""
    if not units:
        return []
    first = units[0]
    if first.shots is None:
        return routed_losses(
            subjects, asked.texts[first.what][first.language], asked.policy, tell=tell
        )
    return [
        score_task(
            subject,
            asked.exams[unit.what][unit.language],
            unit.draw,
            unconditional=asked.pmi(unit.what),
            unfit=asked.unfit,
            tell=tell,
        )
        for subject, unit in zip(subjects, units, strict=True)
    ]


def _finite(result: DocumentLosses | Answers) -> bool:
    """Whether no number is missing: nothing follows from a model that diverged."""
    if isinstance(result, DocumentLosses):
        return bool(np.isfinite(result.nats).all())
    sums = [of for one in result.scores for of in (*one.sums, *(one.unconditional or ()))]
    return bool(np.isfinite(sums).all())


def _fitted(asked: Asked, subjects: Sequence[Model]) -> Asked:
    """With as many items as are wanted of those that all subjects can be asked."""
    exams = {
        name: {lang: fitted(exam, subjects, unfit=asked.unfit) for lang, exam in by.items()}
        for name, by in asked.exams.items()
    }
    return replace(asked, exams=exams)


def _made_from(subject: Model, asked: Asked, unit: Unit) -> str:
    """The fingerprint of all that a unit's numbers depend on."""
    if unit.shots is None:
        documents = asked.texts[unit.what][unit.language]
        read = [(document.id, document.group, document.text) for document in documents]
        return fingerprint([subject.fingerprint, asdict(asked.policy), unit.language, read])
    exam = asked.exams[unit.what][unit.language]
    of_task = [exam.fingerprint(unit.draw), asked.pmi(unit.what), asked.unfit]
    return fingerprint([subject.fingerprint, unit.language, *of_task])


def _model(subject: Model, subjects: Sequence[Model], workspace: Path) -> EvaluatedModel:
    ensemble = subject.ensemble
    return EvaluatedModel(
        name=subject.name,
        kind=subject.kind,
        base=_base(subject, subjects, workspace),
        routing=str(subject.routing) if ensemble.k > 1 else "",
        experts=ensemble.k,
        context=ensemble.context,
        first=subject.tokenizer.id_to_token(subject.first),
        prompted=subject.prompted,
        tokenizer=ensemble.lineage.tokenizer_sha256,
        trained=_trained(subject.name, workspace) if subject.kind == "run" else None,
        fingerprint=subject.fingerprint,
    )


def _base(subject: Model, subjects: Sequence[Model], workspace: Path) -> str | None:
    """What a model was trained on from, by the user's name for it if that is evaluated too."""
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


def with_bases(models: Sequence[str], workspace: Path) -> list[str]:
    """The models, each once, and after them those that they were trained on from, if they exist."""
    named: dict[tuple[Path, str | None], str] = {}
    for name in models:
        place = place_of(name, workspace)
        if place in named:
            also = "" if named[place] == name else f", as `{named[place]}` too"
            raise UserError(f"`{name}` is named twice{also}", hint="name each model once")
        named[place] = name
    for name in models:
        base = seed_of(name, workspace)
        if base is not None:
            named.setdefault(place_of(base, workspace), base)
    return list(named.values())
