"""An evaluation's outcome: `scores.json`, from which tables and pages are made without a model."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tongues.errors import UserError
from tongues.evaluate.accuracies import TaskScores, task_scores
from tongues.evaluate.conduct import About, Asked
from tongues.evaluate.losses import TextScores, text_scores
from tongues.evaluate.tasks import ItemFault, ItemScore, count_faults
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


def outcome(
    models: Sequence[About],
    asked: Asked,
    found: Mapping[Unit, Mapping[str, Any]],
    named: Sequence[str] | None = None,
) -> Outcome:
    """Put together what units found; every model is compared with the first.

    named: the models that are compared with the first, where others are there as seeds alone.
    """
    names = [about.name for about in models]
    pairs = [(name, names[0]) for name in named or names if name != names[0]]
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
    faults = dict.fromkeys(asked.faults)
    unanswered: list[str] = []
    for name, by in asked.exams.items():
        exam = next(iter(by.values()))
        draws = len(exam.demonstrations)
        answers = {
            model: {
                language: [
                    _scores(found[_unit(model, name, language, asked, draw)])
                    for draw in range(draws)
                ]
                for language in by
            }
            for model in names
        }
        faults |= dict.fromkeys(fault for each in by.values() for fault in each.faults)
        faults |= dict.fromkeys(
            ItemFault(**fault)
            for unit, kept in found.items()
            if unit.what == name and unit.shots is not None
            for fault in kept["faults"]
        )
        lacking = [lang for lang in by if any(not _common(own[lang]) for own in answers.values())]
        if len(lacking) == len(by):
            what = f"no item of `{name}` could be asked of every model"
            raise UserError(what, where="--on", hint="; ".join(count_faults(list(faults))))
        unanswered += [f"`{name}` in `{lang}`: no item suits every model" for lang in lacking]
        kept_answers = {
            model: {lang: draws for lang, draws in own.items() if lang not in lacking}
            for model, own in answers.items()
        }
        shots = len(exam.demonstrations[0])
        normalisation = asked.normalisation or exam.task.normalisation
        tasks[name] = task_scores(kept_answers, pairs, normalisation, shots)
    examples = {
        name: {language: exam.items[0].shown(exam.task.separator) for language, exam in by.items()}
        for name, by in asked.exams.items()
    }
    left_out = [*unanswered, *count_faults(list(faults))]
    return Outcome(models, asdict(asked.policy), texts, tasks, examples, left_out)


def write_outcome(of: Outcome, folder: Path) -> dict[str, Any]:
    """Keep it as `scores.json` in an evaluation's folder; returns what is kept."""
    told = {"tongues": version("tongues"), **asdict(of)}
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


def _unit(model: str, task: str, language: str, asked: Asked, draw: int) -> Unit:
    shots = len(asked.exams[task][language].demonstrations[draw])
    return Unit(model, task, language, shots, draw)


def _common(draws: Sequence[Sequence[ItemScore]]) -> set[str]:
    """The items that were answered in every draw."""
    return set.intersection(*({score.id for score in scores} for scores in draws))


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
