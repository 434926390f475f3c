"""Tasks by name, in all the languages that are asked for or that there are."""

from collections.abc import Mapping, Sequence
from typing import Any

from tongues.errors import UserError
from tongues.evaluate.tasks import Exam, library, load_task, set_exam
from tongues.evaluate.tasks.items import find_languages

__all__ = ["is_task", "joined_exams", "set_exams"]


def is_task(said: str) -> bool:
    """Whether a task is meant: one that comes along, or a task's file."""
    return said in library() or said.endswith((".yaml", ".yml"))


def set_exams(
    said: str, languages: Sequence[str] | None, where: str, **how: Any
) -> dict[str, Exam]:
    """What models are asked of a task, by language.

    languages: those wanted; None: all of the task's that lie at `where`. how: as `set_exam` takes.
    """
    task = load_task(said)
    wanted = languages or find_languages(task, where)
    if not wanted:
        hint = "say them, such as `--languages fr`"
        raise UserError("in which languages?", where=task.name, hint=hint)
    return {lang: set_exam(task, lang, where, **how) for lang in wanted}


def joined_exams(
    exams: Mapping[str, Mapping[str, Exam]], found: Mapping[str, Exam]
) -> dict[str, dict[str, Exam]]:
    """Exams by task and language with those found too; two tasks of one name are a UserError."""
    task = next(iter(found.values())).task
    there = exams.get(task.name, {})
    if any(exam.task != task for exam in there.values()):
        raise UserError("two tasks have this name", where=task.name, hint="name one of them anew")
    return {name: dict(by) for name, by in exams.items()} | {task.name: {**there, **found}}
