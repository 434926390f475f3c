"""All units of an evaluation, model after model; each result is kept, and scored only once."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

import numpy as np

from tongues.errors import UserError
from tongues.evaluate.evaluation import EvaluatedModel, Trained
from tongues.evaluate.losses import DocumentLosses, Policy, resolved
from tongues.evaluate.tasks import Exam, ItemFault, Normalisation, Unfitting
from tongues.evaluate.tasks.score import Answers, fitted, score_task
from tongues.evaluate.texts import routed_losses
from tongues.experts.ensemble.model import Model, find_model, open_models, place_of, stored_base
from tongues.files import file_name, fingerprint, read_json, remove_directory, write_json
from tongues.jsonable import from_plain, to_plain
from tongues.launch import Launcher, run_ranks
from tongues.ranks import Rank, Tell
from tongues.runs import read_run
from tongues.text import Document

__all__ = ["Results", "Suite", "Unit", "evaluate", "keep_unit", "read_unit", "score_apart"]
__all__ += ["score_share", "with_bases"]

_MEMORY = 3 * 2**30  # bytes of a rank besides the models' weights

Result: TypeAlias = DocumentLosses | Answers


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """A model on a text or a task in a language, with one draw of demonstrations."""

    subject: str
    what: str  # the text's or the task's name
    language: str
    shots: int | None = None  # None: a text
    draw: int = 0

    def path(self, folder: Path) -> Path:
        """Its file in an evaluation's folder."""
        shots = "" if self.shots is None else f".k{self.shots}.d{self.draw}"
        place = folder / "units" / file_name(self.subject) / file_name(self.what)
        return place / f"{file_name(self.language)}{shots}.json"


def keep_unit(folder: Path, unit: Unit, made_from: str, result: Result) -> None:
    """Keep a unit's result; made_from: the fingerprint of all that it depends on."""
    path = unit.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"fingerprint": made_from, "unit": to_plain(unit), "result": to_plain(result)})


def read_unit(folder: Path, unit: Unit, made_from: str) -> Result | None:
    """A unit's result, or None where it is still to be scored or made from something else."""
    path = unit.path(folder)
    try:
        content = read_json(path) if path.is_file() else {}
    except ValueError:  # damaged
        return None
    if content.get("fingerprint") != made_from:
        return None
    plain = content["result"]
    return DocumentLosses.from_json(plain) if unit.shots is None else from_plain(Answers, plain)


@dataclass(frozen=True, slots=True)
class Suite:
    """What models are evaluated on: texts and tasks by name and language."""

    texts: Mapping[str, Mapping[str, Sequence[Document]]] = field(default_factory=dict)
    exams: Mapping[str, Mapping[str, Exam]] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    normalisation: Normalisation | None = None  # None: each task's own
    unfit: Unfitting = "skip"
    faults: Sequence[ItemFault] = ()  # what is not a document of the texts, or not a model
    unknown: Mapping[str, Collection[str]] = field(default_factory=dict)  # languages, by model

    def units(self, subject: str) -> list[Unit]:
        """All units of one model."""
        unknown = self.unknown.get(subject, ())
        texts = ((name, lang) for name, by in self.texts.items() for lang in by)
        return [Unit(subject, *text) for text in texts if text[1] not in unknown] + [
            Unit(subject, name, lang, len(demonstrations), draw)
            for name, by in self.exams.items()
            for lang, exam in by.items()
            for draw, demonstrations in enumerate(exam.demonstrations)
        ]

    def pmi(self, task: str) -> bool:
        """Whether a task's choices are scored standing alone too."""
        exam = next(iter(self.exams[task].values()))
        return (self.normalisation or exam.task.normalisation) == "pmi"

    def made_from(self, subject: Model, unit: Unit) -> str:
        """The fingerprint of all that a unit's numbers depend on."""
        if unit.shots is None:
            documents = self.texts[unit.what][unit.language]
            read = [(document.id, document.group, document.text) for document in documents]
            return fingerprint([subject.fingerprint, asdict(self.policy), unit.language, read])
        exam = self.exams[unit.what][unit.language]
        asked = [exam.fingerprint(unit.draw), self.pmi(unit.what), self.unfit]
        return fingerprint([subject.fingerprint, unit.language, *asked])


@dataclass(frozen=True, slots=True)
class Results:
    """The models, what they were evaluated on, and the result of each unit."""

    models: Sequence[EvaluatedModel]
    suite: Suite
    texts: Mapping[Unit, DocumentLosses]
    answers: Mapping[Unit, Answers]


def evaluate(
    models: Sequence[str],
    suite: Suite,
    workspace: Path,
    folder: Path,
    *,
    memory: int | None = None,
    watch: Callable[..., None] = lambda share, *words: None,
) -> Results:
    """Score every model on everything, and keep each result in `folder` as soon as it is there.

    memory: bytes of weights to hold at most, of an ensemble. watch: receives the share done and, in
    words, what is under way. Routings of one ensemble that are named one after the other share what
    its experts read. The results have other items in the place of those that one model cannot be
    asked where not all were wanted. A model that cannot be opened, or sees less than a window, is a
    UserError before anything is scored. One that produces NaN is left out, and is one of the
    faults; where no other is left, it is a UserError.
    """
    subjects = open_models(models, workspace, max_memory=memory)
    for subject in subjects if suite.texts else ():
        resolved(suite.policy, subject.ensemble.context, f"`{subject.name}`")
    exams = {
        name: {lang: fitted(exam, subjects, unfit=suite.unfit) for lang, exam in by.items()}
        for name, by in suite.exams.items()
    }
    suite = replace(suite, exams=exams)
    evaluated = [_describe(subject, subjects, workspace) for subject in subjects]
    groups = [list(group) for _, group in groupby(subjects, key=lambda one: id(one.ensemble))]
    subjects.clear()
    results: dict[Unit, Result] = {}
    broken: dict[str, ItemFault] = {}
    scored = 0
    while groups:
        group = groups.pop(0)  # the ensemble is let go of once it is scored

        def tell(share: float, *words: str, done: int = scored, own: int = len(group)) -> None:
            watch((done + share * own) / len(models), *words)

        scored += len(group)
        for unit, result in _score_group(group, suite, folder, tell):
            if isinstance(result, ItemFault):
                broken.setdefault(unit.subject, result)
            else:
                results[unit] = result
    watch(1.0)
    evaluated = [one for one in evaluated if one.name not in broken]
    if not evaluated:
        fault = next(iter(broken.values()))
        raise UserError(f"{fault.reason}, {fault.place}", where=fault.source, hint=fault.sample)
    return Results(
        evaluated,
        replace(suite, faults=(*suite.faults, *broken.values())),
        {unit: of for unit, of in results.items() if isinstance(of, DocumentLosses)},
        {unit: of for unit, of in results.items() if isinstance(of, Answers)},
    )


def _score_group(
    group: Sequence[Model], suite: Suite, folder: Path, watch: Callable[..., None]
) -> Iterator[tuple[Unit, Result | ItemFault]]:
    """All units of one ensemble by its routings; a fault for a model that produces NaN."""
    named = {subject.name: subject for subject in group}
    units: dict[Unit, list[Unit]] = {}  # by what is the same for all routings
    for unit in (unit for name in named for unit in suite.units(name)):
        units.setdefault(replace(unit, subject=""), []).append(unit)
    for number, alike in enumerate(units.values()):
        each = [unit for unit in alike if unit.subject in named]
        if not each:
            continue
        share, what = number / len(units), f"{each[0].subject} {each[0].what} {each[0].language}"
        watch(share, what)
        prints = {unit: suite.made_from(named[unit.subject], unit) for unit in each}
        kept = {unit: read_unit(folder, unit, prints[unit]) for unit in each}
        wanted = {unit: named[unit.subject] for unit in each if kept[unit] is None}
        new = _score_units(wanted, suite, partial(watch, share, what)) if wanted else {}
        for unit in each:
            result = kept[unit] or new[unit]
            if kept[unit] is None and not _finite(result):
                del named[unit.subject]  # none of its other units is scored
                place, why = f"in `{unit.what}`, `{unit.language}`", "its weights are broken"
                yield unit, ItemFault(unit.subject, place, "predicts what is not a number", why)
                continue
            if kept[unit] is None:
                keep_unit(folder, unit, prints[unit], result)
            yield unit, result


def _score_units(units: Mapping[Unit, Model], suite: Suite, tell: Tell) -> dict[Unit, Result]:
    """The results of units of one ensemble that differ by the routing alone."""
    first = next(iter(units))
    if first.shots is None:
        documents = suite.texts[first.what][first.language]
        losses = routed_losses(list(units.values()), documents, suite.policy, tell=tell)
        return dict(zip(units, losses, strict=True))
    exam, pmi = suite.exams[first.what][first.language], suite.pmi(first.what)
    return {
        unit: score_task(subject, exam, first.draw, unconditional=pmi, unfit=suite.unfit, tell=tell)
        for unit, subject in units.items()
    }


def _finite(result: Result) -> bool:
    if isinstance(result, DocumentLosses):
        return bool(np.isfinite(result.nats).all())
    sums = [of for one in result.scores for of in (*one.sums, *(one.unconditional or ()))]
    return bool(np.isfinite(sums).all())


def _describe(subject: Model, subjects: Sequence[Model], workspace: Path) -> EvaluatedModel:
    ensemble, base, trained = subject.ensemble, subject.base, None
    if base is not None and stored_base(subject.name, workspace) is not None:
        place = place_of(base, workspace)  # by the user's name for it if that is evaluated too
        names = (one.name for one in subjects if place_of(one.name, workspace) == place)
        base = next(names, base)
    if subject.kind == "run":
        record = read_run(find_model(subject.name, workspace)[1])
        same = ("run", "fingerprint", "strategy", "roles", "shape", "tokens", "seed")
        plain = {name: getattr(record, name) for name in same}
        trained = Trained(params=record.params["total"], **plain)
    return EvaluatedModel(
        name=subject.name,
        kind=subject.kind,
        base=base,
        routing=str(subject.routing) if ensemble.k > 1 else "",
        experts=ensemble.k,
        context=ensemble.context,
        first=subject.tokenizer.id_to_token(subject.first),
        prompted=subject.prompted,
        tokenizer=ensemble.lineage.tokenizer_sha256,
        trained=trained,
        fingerprint=subject.fingerprint,
    )


def score_apart(
    models: Sequence[str],
    suite: Suite,
    workspace: Path,
    folder: Path,
    *,
    ranks: int,
    launcher: Launcher,
    memory: int | None = None,
    tell: Tell = lambda line: None,
) -> None:
    """Score all units in so many processes, and keep each result in `folder` for `evaluate`.

    Interrupted, the same call resumes. memory: as of `evaluate`, of each rank.
    """
    threads = launcher.threads(ranks)
    weights = {place_of(name, workspace)[0] for name in models}
    sizes = (file.stat().st_size for place in weights for file in place.rglob("*.safetensors"))
    units = [str(unit.path(folder)) for name in models for unit in suite.units(name)]
    arguments = (list(models), suite, workspace, folder, memory, threads)
    run_ranks(
        score_share,
        arguments,
        ranks,
        tell,
        launcher=launcher,
        name=folder.name,
        folder=folder / "ranks",
        fingerprint=fingerprint([units, ranks]),
        threads=threads,
        memory=_MEMORY + sum(sizes),
        gpus=1,
    )
    remove_directory(folder / "ranks")


def score_share(
    rank: Rank,
    tell: Tell,
    models: list[str],
    suite: Suite,
    workspace: Path,
    folder: Path,
    memory: int | None,
    threads: int,
) -> None:
    """Score a rank's share of what can be scored apart, and keep it.

    That is a text in a language by one ensemble with all its routings, and a task in a language by
    all models, since which items are asked depends on all of them.
    """
    import torch

    torch.set_num_threads(threads)
    alike = [list(some) for _, some in groupby(models, lambda name: place_of(name, workspace)[0])]
    texts = [{name: {lang: by[lang]}} for name, by in suite.texts.items() for lang in by]
    exams = [{name: {lang: by[lang]}} for name, by in suite.exams.items() for lang in by]
    parts = [(some, replace(suite, texts=one, exams={})) for some in alike for one in texts]
    parts += [(models, replace(suite, texts={}, exams=one)) for one in exams]
    for names, part in rank.share(parts):
        try:
            evaluate(names, part, workspace, folder, memory=memory)
        except UserError as error:  # whether it matters is seen where all of it is put together
            tell(str(error))


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
        base = stored_base(name, workspace)
        if base is not None:
            named.setdefault(place_of(base, workspace), base)
    return list(named.values())
