"""Where the items of a task lie: in files of its languages, or in a data set of the hub."""

import re
from pathlib import Path
from typing import Literal

from langcodes import tag_is_valid

from tongues.errors import UserError
from tongues.evaluate.tasks.task import Task
from tongues.files import path_text
from tongues.recipe import Hub

__all__ = ["Part", "find_items", "find_languages", "languages_in"]

_HUB = "hub"  # where items are read from the hub; `hub:NAME` names another data set of that layout
_PACKED = ("", ".gz", ".zst")

Part = Literal["items", "demonstrations"]


def find_items(
    task: Task, language: str, where: Path | str, part: Part = "items"
) -> Path | Hub | None:
    """The file or data set with a language's items, or with its demonstrations if those lie apart.

    where: a folder, a file, `hub`, or `hub:NAME` with a data set of the same layout. In a folder
    that is the task's own path, `NAME/{language}.jsonl` or `{language}.jsonl`, packed or not.
    """
    if _is_hub(where):
        return _on_hub(task, language, str(where).removeprefix(_HUB).removeprefix(":"), part)
    folder = Path(where)
    if folder.is_file():
        return folder if part == "items" else None
    names = dict.fromkeys((language, task.names.get(language, language)))
    tried = [one.replace("{language}", name) for one in _patterns(task, part) for name in names]
    for path in (folder / f"{one}{packed}" for one in tried for packed in _PACKED):
        if path.is_file():
            return path
    if part == "demonstrations":
        return None
    what = f"has no items of `{task.name}` in `{language}`: there is no "
    what += ", ".join(f"`{one}`" for one in tried)
    there = languages_in(task, folder)
    hint = f"there are {', '.join(there)}" if there else _content(folder)
    raise UserError(what, where=path_text(folder), hint=hint)


def find_languages(task: Task, where: Path | str) -> list[str]:
    """The languages that have items at a place, sorted: those of a folder's files, or the task's.

    Empty where that cannot be told, as of a single file.
    """
    folder, languages = Path(where), languages_in(task, where)
    if languages or folder.is_file() or _is_hub(where):
        return languages
    what = f"has no items of `{task.name}` in any language"
    raise UserError(what, where=path_text(folder), hint=_content(folder))


def languages_in(task: Task, where: Path | str, *, named: bool = False) -> list[str]:
    """The languages that have items at a place, sorted, or none.

    named: only those whose files the task's name or its own paths tell apart from other tasks'.
    """
    if _is_hub(where):
        return sorted(task.languages)
    own = {name: language for language, name in task.names.items()}
    for pattern in _patterns(task, "items")[: -1 if named else None]:
        before, _, after = pattern.partition("{language}")
        file = re.compile(rf"{re.escape(before)}([^/]+){re.escape(after)}(\.gz|\.zst)?")
        paths = Path(where).glob(f"{pattern.replace('{language}', '*')}*")
        matches = [file.fullmatch(path.relative_to(where).as_posix()) for path in paths]
        names = {own.get(match[1], match[1]) for match in matches if match}
        if languages := sorted(filter(tag_is_valid, names)):
            return languages
    return []


def _is_hub(where: Path | str) -> bool:
    return str(where).partition(":")[0] == _HUB


def _on_hub(task: Task, language: str, dataset: str, part: Part) -> Hub | None:
    if task.hub is None:
        what, hint = "says no data set of the hub", "name a folder with its files"
        raise UserError(what, where=task.name, hint=hint)
    split = task.hub.split if part == "items" else task.hub.demonstrations
    subset = task.hub.subset and task.hub.subset.replace("{language}", task.hub_name(language))
    return Hub(dataset=dataset or task.hub.dataset, subset=subset, split=split) if split else None


def _patterns(task: Task, part: Part) -> list[str]:
    """Where in a folder a task's files may lie, without what packs them."""
    own = task.files.items if part == "items" else task.files.demonstrations
    usual = [f"{task.name}/{{language}}.jsonl", "{language}.jsonl"] if part == "items" else []
    return ([own] if own else []) + usual


def _content(folder: Path) -> str:
    if not folder.is_dir():
        return f"there is no such folder in `{Path.cwd()}`; `hub` reads from the hub"
    inside = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    return f"it holds {', '.join(inside[:12])}" if inside else "it is empty"
