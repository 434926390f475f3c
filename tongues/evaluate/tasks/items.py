"""Items out of rows, and a fault for each row that is none."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tongues.errors import UserError, nearest
from tongues.evaluate.tasks.answers import ItemFault, count_faults, stop_at
from tongues.evaluate.tasks.places import Part, find_items
from tongues.evaluate.tasks.task import Task, Wording
from tongues.evaluate.tasks.templates import Unfit, fill_all
from tongues.files import path_text
from tongues.text.reading import Fault
from tongues.text.reading.files import read_records
from tongues.text.reading.hub import hub_rows, hub_source

__all__ = ["Item", "TaskItems", "Unfitting", "joined", "read_items"]

Unfitting = Literal["skip", "stop"]  # what becomes of what cannot be asked


@dataclass(frozen=True, slots=True)
class Item:
    """A question with its prompts filled in: a prompt and what is scored behind it, per choice."""

    id: str
    prompts: tuple[str, ...]
    endings: tuple[str, ...]
    label: int  # the right choice, counted from 0

    def shown(self, separator: str) -> str:
        """With the right choice, as a demonstration shows it."""
        return joined(self.prompts[self.label], separator, self.endings[self.label])


def joined(prompt: str, separator: str, ending: str) -> str:
    """A prompt with what is scored behind it, which stands alone behind an empty one."""
    return f"{prompt}{separator}{ending}" if prompt else ending


@dataclass(frozen=True, slots=True)
class TaskItems:
    """What a source holds: items in its order, and a fault for each row that is none."""

    source: str
    items: tuple[Item, ...]
    faults: tuple[ItemFault, ...]


def read_items(
    task: Task,
    language: str,
    where: Path | str,
    *,
    part: Part = "items",
    templates: str = "english",
    unfit: Unfitting = "skip",
) -> TaskItems:
    """The items of a task in a language, with the prompts filled in by `templates`.

    templates: `english` or `translated`. unfit: whether a row that is no item is passed over and
    is among the faults, or is an error. A UserError where nothing is left.
    """
    place = find_items(task, language, where, part)
    if place is None:
        raise UserError(f"`{task.name}` names no demonstrations apart", where=str(where))
    wording = task.wording(language, templates)
    if isinstance(place, Path):
        source, kind, rows = path_text(place), "line", read_records(place)
    else:
        source, kind = hub_source(place), "row"
        name = f"{task.name}.hub.{language}"
        rows = ((state["row"], row) for row, state in hub_rows(place, name))
    items: dict[str, Item] = {}
    faults: list[ItemFault] = []
    fields: Mapping[str, Any] = {}
    for number, row in rows:
        try:
            if isinstance(row, Fault):
                raise Unfit(row.reason, row.sample)
            fields = fields or row
            item = _item(task, wording, row, number, items)
        except Unfit as error:
            faults.append(ItemFault(source, f"{kind} {number}", error.reason, error.about))
            if unfit == "stop":
                raise stop_at(faults[-1]) from None
        else:
            items[item.id] = item
    if not items:
        _check_fields(task, wording, faults, fields)
        why = "; ".join(count_faults(faults)) or "it is empty"
        raise UserError(f"holds no item of `{task.name}`", where=source, hint=why)
    return TaskItems(source, tuple(items.values()), tuple(faults))


def _item(
    task: Task, wording: Wording, row: Mapping[str, Any], number: int, known: Collection[str]
) -> Item:
    """The item of a row; Unfit where it is none, or where its id is known."""

    def fill(templates: str | list[str], *, blank: bool) -> list[str]:
        texts = fill_all(templates, row, wording.words, blank=blank)
        for pattern, new in task.replace.items():
            texts = [re.sub(pattern, new, text) for text in texts]
        return texts

    name = str(number) if task.id is None else _field(row, task.id)
    if name in known:
        raise Unfit("id twice", f"`{name}`")
    endings = fill(wording.choices, blank=False)
    prompts = fill(wording.prompt, blank=isinstance(wording.prompt, str))
    count = max(len(prompts), len(endings))
    if count < 2:
        raise Unfit("one choice", f"{count}")
    prompts = prompts * count if len(prompts) == 1 else prompts
    endings = endings * count if len(endings) == 1 else endings
    for prompt, ending in zip(prompts, endings, strict=True):
        if not ending.strip():
            raise Unfit("empty choice", "nothing is left of it")
        if not (wording.prompt == "" or prompt.strip()):
            raise Unfit("empty prompt", "nothing is left of it")
        try:
            f"{prompt}{ending}".encode()
        except UnicodeEncodeError:
            raise Unfit("bad encoding", "half a surrogate pair") from None
    if len(set(zip(prompts, endings, strict=True))) < count:
        raise Unfit("choices alike", f"`{endings[0][:60]}`")
    value = _field(row, task.label)
    labels = list(map(_text, range(count) if task.labels is None else task.labels[:count]))
    if value not in labels:
        raise Unfit("label out of range", f"`{value}` is none of {', '.join(labels)}")
    return Item(name, tuple(prompts), tuple(endings), labels.index(value))


def _field(row: Mapping[str, Any], name: str) -> str:
    if row.get(name) is None:
        raise Unfit("field missing", f"`{name}`")
    return _text(row[name])


def _text(value: Any) -> str:
    """A label or id as text; 1.0 is 1, as tables with gaps write whole numbers."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).strip()


def _check_fields(
    task: Task, wording: Wording, faults: Sequence[ItemFault], row: Mapping[str, Any]
) -> None:
    """A UserError where one field that the task names is what all rows lack: the task is wrong."""
    lacking = {fault.sample if fault.reason == "field missing" else "" for fault in faults}
    if len(lacking) != 1 or not (path := lacking.pop().strip("`")):
        return
    key = "label" if path == task.label else "id" if path == task.id else ""
    for name, templates in (("prompt", wording.prompt), ("choices", wording.choices)):
        if f"{{{path}" in "".join(templates):
            key = name
    inside = [f"{one}.{two}" for one, of in row.items() if isinstance(of, Mapping) for two in of]
    what = f"`{key}` names the field `{path}`, which none of the {len(faults)} rows has"
    where = f"{task.name}, {faults[0].source}"
    raise UserError(what, where=where, hint=nearest(path, [*row, *inside]))
