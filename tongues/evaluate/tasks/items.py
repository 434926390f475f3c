"""Items out of rows, and a fault for each row that is none."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tongues.errors import UserError, nearest
from tongues.evaluate.tasks.faults import ItemFault, count_faults, stop_at
from tongues.evaluate.tasks.places import Part, Place, find_items
from tongues.evaluate.tasks.task import Task, Wording
from tongues.evaluate.tasks.templates import Unfit, fill_all
from tongues.files import path_text
from tongues.text.reading import Fault
from tongues.text.reading.files import read_records
from tongues.text.reading.hub import hub_rows, hub_source

__all__ = ["Item", "Read", "Unfitting", "joined", "read_items"]

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
class Read:
    """What a source held: items in its order, and a fault for each row that is none."""

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
) -> Read:
    """The items of a task in a language, with the prompts filled in by `templates`.

    templates: `english` or `translated`. unfit: whether a row that is no item is passed over and
    told among the faults, or is an error. A UserError where nothing is left.
    """
    place = find_items(task, language, where, part)
    if place is None:
        raise UserError(f"`{task.name}` names no demonstrations apart", where=str(where))
    wording = task.wording(language, templates)
    make = _maker(task, wording)
    source = path_text(place) if isinstance(place, Path) else hub_source(place)
    items: dict[str, Item] = {}
    faults: list[ItemFault] = []
    fields: dict[str, Any] = {}
    for number, row in _rows(place, task, language):
        fields = fields or ({} if isinstance(row, Fault) else row)
        found = make(number, row, items) if not isinstance(row, Fault) else _told(row)
        if isinstance(found, Item):
            items[found.id] = found
            continue
        kind = "line" if isinstance(place, Path) else "row"
        faults.append(ItemFault(source, f"{kind} {number}", *found))
        if unfit == "stop":
            raise stop_at(faults[-1])
    if not items:
        _say_what_no_row_has(task, wording, faults, fields)
        why = "; ".join(count_faults(faults)) or "it is empty"
        raise UserError(f"holds no item of `{task.name}`", where=source, hint=why)
    return Read(source, tuple(items.values()), tuple(faults))


def _maker(
    task: Task, wording: Wording
) -> Callable[[int, Mapping[str, Any], Mapping[str, Item]], Item | tuple[str, str]]:
    """What makes an item of a row, or says why it is none."""
    replaced = [(re.compile(pattern), new) for pattern, new in task.replace.items()]
    prompt, choices, words = wording.prompt, wording.choices, wording.words

    def filled(templates: str | list[str], row: Mapping[str, Any], *, blank: bool) -> list[str]:
        texts = fill_all(templates, row, words, blank=blank)
        for pattern, new in replaced:
            texts = [pattern.sub(new, text) for text in texts]
        return texts

    def make(
        number: int, row: Mapping[str, Any], there: Mapping[str, Item]
    ) -> Item | tuple[str, str]:
        try:
            name = _id(task, row, number)
            if name in there:
                raise Unfit("id twice", f"`{name}`")
            endings = filled(choices, row, blank=False)
            prompts = filled(prompt, row, blank=isinstance(prompt, str))
            pairs = _paired(prompts, endings)
            _check(pairs, blank=prompt == "")
            label = _label(task, row, len(pairs))
        except Unfit as error:
            return error.reason, error.about
        return Item(
            name,
            tuple(prompt for prompt, _ in pairs),
            tuple(ending for _, ending in pairs),
            label,
        )

    return make


def _paired(prompts: list[str], endings: list[str]) -> list[tuple[str, str]]:
    count = max(len(prompts), len(endings))
    if count < 2:
        raise Unfit("one choice", f"{count}")
    prompts = prompts * count if len(prompts) == 1 else prompts
    endings = endings * count if len(endings) == 1 else endings
    return list(zip(prompts, endings, strict=True))


def _check(pairs: list[tuple[str, str]], *, blank: bool) -> None:
    for prompt, ending in pairs:
        if not ending.strip():
            raise Unfit("empty choice", "nothing is left of it")
        if not (blank or prompt.strip()):
            raise Unfit("empty prompt", "nothing is left of it")
        try:
            f"{prompt}{ending}".encode()
        except UnicodeEncodeError:
            raise Unfit("bad encoding", "half a surrogate pair") from None
    if len(set(pairs)) < len(pairs):
        raise Unfit("choices alike", f"`{pairs[0][1][:60]}`")


def _id(task: Task, row: Mapping[str, Any], number: int) -> str:
    if task.id is None:
        return str(number)
    if row.get(task.id) is None:
        raise Unfit("field missing", f"`{task.id}`")
    return _written(row[task.id])


def _label(task: Task, row: Mapping[str, Any], choices: int) -> int:
    if row.get(task.label) is None:
        raise Unfit("field missing", f"`{task.label}`")
    known = list(map(_written, range(choices) if task.labels is None else task.labels))
    value = _written(row[task.label])
    if value not in known[:choices]:
        raise Unfit("label out of range", f"`{value}` is none of {', '.join(known[:choices])}")
    return known.index(value)


def _written(value: Any) -> str:
    """A label or id as text; 1.0 is 1, as tables with gaps write whole numbers."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).strip()


def _say_what_no_row_has(
    task: Task, wording: Wording, faults: Sequence[ItemFault], row: Mapping[str, Any]
) -> None:
    """A UserError where one field that the task names is what all rows lack: the task is wrong."""
    lacking = {fault.sample if fault.reason == "field missing" else "" for fault in faults}
    if len(lacking) != 1 or not (path := lacking.pop().strip("`")):
        return
    said = {"prompt": wording.prompt, "choices": wording.choices}
    key = "label" if path == task.label else "id" if path == task.id else ""
    for name, templates in said.items():
        if f"{{{path}" in "".join(templates):
            key = name
    inside = [f"{one}.{two}" for one, of in row.items() if isinstance(of, Mapping) for two in of]
    what = f"`{key}` names the field `{path}`, which none of the {len(faults)} rows has"
    where = f"{task.name}, {faults[0].source}"
    raise UserError(what, where=where, hint=nearest(path, [*row, *inside]))


def _told(fault: Fault) -> tuple[str, str]:
    return fault.reason, fault.sample


def _rows(place: Place, task: Task, language: str) -> Iterator[tuple[int, dict[str, Any] | Fault]]:
    if isinstance(place, Path):
        yield from read_records(place)
        return
    for row, state in hub_rows(place, f"{task.name}.hub.{language}"):
        yield state["row"], row
