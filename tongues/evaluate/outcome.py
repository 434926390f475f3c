"""An evaluation's outcome: `scores.json`, from which tables and pages are made without a model."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.evaluate.accuracies import TaskScores, task_scores
from tongues.evaluate.conduct import About, Asked
from tongues.evaluate.losses import TextScores, text_scores
from tongues.evaluate.tasks import Exam, ItemFault, ItemScore, count_faults
from tongues.evaluate.texts import DocumentLosses
from tongues.evaluate.units import Unit
from tongues.files import write_json

__all__ = ["SCORES", "Outcome", "outcome", "write_outcome"]

SCORES = "scores.json"


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that an evaluation found, and what follows from it."""

    models: Sequence[About]
    policy: Mapping[str, Any]  # how texts were cut into windows
    texts: Mapping[str, TextScores]
    tasks: Mapping[str, TaskScores]
    examples: Mapping[str, Mapping[str, str]]  # by task and language: an item, rightly answered
    left_out: Sequence[str]  # documents and items that were not asked, counted by reason

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values, with the version that found it."""
        return {"tongues": version("tongues"), **asdict(self)}


def outcome(
    models: Sequence[About],
    asked: Asked,
    found: Mapping[Unit, Mapping[str, Any]],
    named: Sequence[str] | None = None,
) -> Outcome:
    """Put together what units found; every model is compared with the first.

    named: the models that are compared with the first, where others are there as seeds alone. A
    task, or a language of it, of which no item suits every model is left out; a UserError where
    nothing is left then.
    """
    names = [about.name for about in models]
    pairs = [(name, names[0]) for name in named or names if name in names[1:]]
    seeds = {about.name: about.seed for about in models if about.seed in names}
    texts = {
        name: text_scores(
            {model: _losses(found, model, name, by) for model in names},
            pairs,
            {model: str(seed) for model, seed in seeds.items()},
        )
        for name, by in asked.texts.items()
    }
    tasks: dict[str, TaskScores] = {}
    examples: dict[str, dict[str, str]] = {}
    faults = dict.fromkeys(asked.faults)
    unanswered: list[str] = []
    for name, by in asked.exams.items():
        units = {lang: [unit for unit in found if _is_of(unit, name, lang)] for lang in by}
        told = {lang: _faults(found, units[lang], exam) for lang, exam in by.items()}
        faults |= dict.fromkeys(fault for each in told.values() for fault in each)
        answers = {
            model: {
                lang: [_scores(found[unit]) for unit in own if unit.subject == model]
                for lang, own in units.items()
            }
            for model in names
        }
        suited = [lang for lang in by if _common([own[lang] for own in answers.values()])]
        unanswered += _unsuited(name, {lang: told[lang] for lang in by if lang not in suited}, by)
        if not suited:
            continue
        exam = by[suited[0]]
        tasks[name] = task_scores(
            {model: {lang: own[lang] for lang in suited} for model, own in answers.items()},
            pairs,
            asked.normalisation or exam.task.normalisation,
            len(exam.demonstrations[0]),
        )
        separator = exam.task.separator
        examples[name] = {lang: by[lang].items[0].shown(separator) for lang in suited}
    counted = count_faults(list(faults))
    if asked.exams and not (tasks or texts):
        what = "nothing could be asked of every model"
        raise UserError(what, where="--on", hint="; ".join([*unanswered, *counted]))
    left_out = [*unanswered, *counted]
    return Outcome(models, asdict(asked.policy), texts, tasks, examples, left_out)


def write_outcome(of: Outcome, folder: Path) -> dict[str, Any]:
    """Keep it as `scores.json` in an evaluation's folder; returns what is kept."""
    told = of.to_json()
    write_json(folder / SCORES, told)
    return told


def _losses(
    found: Mapping[Unit, Mapping[str, Any]], model: str, text: str, languages: Mapping[str, Any]
) -> dict[str, DocumentLosses]:
    return {
        language: _document_losses(found[Unit(model, text, language)]) for language in languages
    }


def _document_losses(kept: Mapping[str, Any]) -> DocumentLosses:
    columns = {name: np.array(kept[name]) for name in ("nats", "tokens", "bytes", "missing")}
    return DocumentLosses(ids=tuple(kept["ids"]), segments=tuple(kept["segments"]), **columns)


def _is_of(unit: Unit, task: str, language: str) -> bool:
    return unit.shots is not None and (unit.what, unit.language) == (task, language)


def _faults(
    found: Mapping[Unit, Mapping[str, Any]], units: Sequence[Unit], exam: Exam
) -> list[ItemFault]:
    """What is no item, and what some model could not be asked."""
    kept = (fault for unit in units for fault in found[unit]["faults"])
    return [*exam.faults, *(ItemFault(**fault) for fault in kept)]


def _common(models: Sequence[Sequence[Sequence[ItemScore]]]) -> set[str]:
    """The items that all models answered in every draw."""
    return set.intersection(*({of.id for of in scores} for draws in models for scores in draws))


def _unsuited(
    task: str, told: Mapping[str, Sequence[ItemFault]], asked: Collection[str]
) -> list[str]:
    """That no item of a task in these languages suits every model, and why."""
    reasons = {lang: ", ".join({of.reason: None for of in each}) for lang, each in told.items()}
    if len(told) == len(asked):
        why = ", ".join(dict.fromkeys(reasons.values()))
        return [f"`{task}`: no item suits every model ({why})"]
    return [
        f"`{task}` in `{lang}`: no item suits every model ({why})" for lang, why in reasons.items()
    ]


def _scores(kept: Mapping[str, Any]) -> list[ItemScore]:
    return [
        ItemScore(
            id=score["id"],
            label=score["label"],
            sums=tuple(score["sums"]),
            tokens=tuple(score["tokens"]),
            characters=tuple(score["characters"]),
            bytes=tuple(score["bytes"]),
            unconditional=tuple(alone) if (alone := score["unconditional"]) else None,
        )
        for score in kept["scores"]
    ]
