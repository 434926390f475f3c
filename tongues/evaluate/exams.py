"""Tasks by name, in all the languages that are asked for or that there are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tongues.errors import UserError
from tongues.evaluate.tasks import TASKS, Exam, Task, find_languages, load_task, set_exam
from tongues.evaluate.tasks.places import languages_in

__all__ = ["is_task", "joined_exams", "set_exams"]


def is_task(said: str) -> bool:
    """Whether a task is meant: a registered one, or a task's file."""
    return said in TASKS.names() or said.endswith((".yaml", ".yml"))


def set_exams(
    said: str, languages: Sequence[str] | None, where: str | Sequence[str], **how: Any
) -> dict[str, Exam]:
    """What models are asked of a task, by language.

    languages: those wanted; None: all of the task's that lie at `where`. where: a place as
    `set_exam` takes it, or several, of which one at most holds a language; where the task's name
    tells which these are, nothing else counts. how: as `set_exam` takes.
    """
    task = load_task(said)
    places = [where] if isinstance(where, str) else list(dict.fromkeys(where))
    lying = _lying(task, places) or dict.fromkeys(languages or (), places[0])
    wanted = languages or list(lying)
    if not wanted:
        hint = "say them, such as `--languages fr`"
        raise UserError("in which languages?", where=task.name, hint=hint)
    for lang in wanted:
        if lang not in lying:
            what = f"has no items of `{task.name}` in `{lang}`"
            raise UserError(what, where=", ".join(places), hint=f"there are {', '.join(lying)}")
    return {lang: set_exam(task, lang, lying[lang], **how) for lang in wanted}


def joined_exams(
    exams: Mapping[str, Mapping[str, Exam]], found: Mapping[str, Exam]
) -> dict[str, dict[str, Exam]]:
    """Exams by task and language with those found too; two tasks of one name are a UserError."""
    task = next(iter(found.values())).task
    there = exams.get(task.name, {})
    if any(exam.task != task for exam in there.values()):
        raise UserError("two tasks have this name", where=task.name, hint="name one of them anew")
    return {name: dict(by) for name, by in exams.items()} | {task.name: {**there, **found}}


def _lying(task: Task, places: Sequence[str]) -> dict[str, str]:
    """The place of each language's items; empty where that cannot be told, as of a single file."""
    if len(places) == 1:
        return dict.fromkeys(find_languages(task, places[0]), places[0])
    if file := next((place for place in places if Path(place).is_file()), None):
        what = f"which languages of `{task.name}` it holds cannot be told"
        raise UserError(what, where=file, hint="name it alone, or name folders")
    by_name = {place: languages_in(task, place, named=True) for place in places}
    by_files = {place: languages_in(task, place) for place in places}
    found: dict[str, str] = {}
    for place, languages in (by_name if any(by_name.values()) else by_files).items():
        for lang in languages:
            if lang in found:
                what = f"items of `{task.name}` in `{lang}` lie there and in `{found[lang]}`"
                raise UserError(what, where=place, hint="name one of the two")
            found[lang] = place
    if not found:
        what = f"hold no items of `{task.name}` in any language"
        raise UserError(what, where=", ".join(places), hint=f"`{task.name}/sw.jsonl` would be one")
    return dict(sorted(found.items()))
