"""Items out of files and data sets of the hub, and a fault for each row that is none."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from langcodes import tag_is_valid

from tongues.errors import UserError
from tongues.evaluate.tasks.faults import ItemFault, count_faults, stop_at
from tongues.evaluate.tasks.task import Task, Wording
from tongues.evaluate.tasks.templates import Unfit, fill_all
from tongues.files import path_text
from tongues.recipe import Hub
from tongues.text.reading import Fault
from tongues.text.reading.files import read_records
from tongues.text.reading.hub import hub_rows, hub_source

__all__ = [
    "HUB",
    "Item",
    "Place",
    "Read",
    "Unfitting",
    "find_items",
    "find_languages",
    "joined",
    "read_items",
]

HUB = "hub"  # where items are read from the hub; `hub:NAME` names another data set of that layout
_PACKED = ("", ".gz", ".zst")

Place = Path | Hub
Unfitting = Literal["skip", "stop"]  # what becomes of what cannot be asked
Part = Literal["items", "demonstrations"]


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


def find_items(task: Task, language: str, where: Path | str, part: Part = "items") -> Place | None:
    """The file or data set with a language's items, or with its demonstrations if those lie apart.

    where: a folder, a file, `hub`, or `hub:NAME` with a data set of the same layout. In a folder
    that is the task's own path, `NAME/{language}.jsonl` or `{language}.jsonl`, packed or not.
    """
    if (said := str(where)) == HUB or said.startswith(f"{HUB}:"):
        return _on_hub(task, language, said.removeprefix(HUB).removeprefix(":"), part)
    folder = Path(where)
    if folder.is_file():
        return folder if part == "items" else None
    names = dict.fromkeys((language, _name(task, language)))
    patterns = _patterns(task, part)
    tried = [pattern.replace("{language}", name) for pattern in patterns for name in names]
    for path in (folder / f"{one}{packed}" for one in tried for packed in _PACKED):
        if path.is_file():
            return path
    if part == "demonstrations":
        return None
    looked = ", ".join(f"`{one}`" for one in tried)
    what = f"has no items of `{task.name}` in `{language}`: there is no {looked}"
    raise UserError(what, where=path_text(folder), hint=_beside(folder))


def find_languages(task: Task, where: Path | str) -> list[str]:
    """The languages that have items at a place, sorted: those of a folder's files, or the task's.

    Empty where that cannot be told, as of a single file.
    """
    if (said := str(where)) == HUB or said.startswith(f"{HUB}:"):
        return sorted(task.languages)
    own = {_name(task, language): language for language in task.languages}
    for pattern in _patterns(task, "items"):
        before, _, after = pattern.partition("{language}")
        named = re.compile(rf"{re.escape(before)}([^/]+){re.escape(after)}(\.gz|\.zst)?")
        paths = Path(where).glob(f"{pattern.replace('{language}', '*')}*")
        found = [named.fullmatch(path.relative_to(where).as_posix()) for path in paths]
        names = {own.get(match[1], match[1]) for match in found if match}
        if languages := sorted(filter(tag_is_valid, names)):
            return languages
    if Path(where).is_file():
        return []
    what = f"has no items of `{task.name}` in any language"
    raise UserError(what, where=path_text(where), hint=_beside(Path(where)))


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
    for number, row in _rows(place, task, language):
        found = make(number, row, items) if not isinstance(row, Fault) else _told(row)
        if isinstance(found, Item):
            items[found.id] = found
            continue
        kind = "line" if isinstance(place, Path) else "row"
        faults.append(ItemFault(source, f"{kind} {number}", *found))
        if unfit == "stop":
            raise stop_at(faults[-1])
    if not items:
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


def _told(fault: Fault) -> tuple[str, str]:
    return fault.reason, fault.sample


def _rows(place: Place, task: Task, language: str) -> Iterator[tuple[int, dict[str, Any] | Fault]]:
    if isinstance(place, Path):
        yield from read_records(place)
        return
    for row, state in hub_rows(place, f"{task.name}.hub.{language}"):
        yield state["row"], row


def _on_hub(task: Task, language: str, dataset: str, part: Part) -> Hub | None:
    if task.hub is None:
        what, hint = "says no data set of the hub", "name a folder with its files"
        raise UserError(what, where=task.name, hint=hint)
    split = task.hub.split if part == "items" else task.hub.demonstrations
    if split is None:
        return None
    subset = task.hub.subset
    if subset is not None:
        subset = subset.replace("{language}", task.hub_name(language))
    return Hub(dataset=dataset or task.hub.dataset, subset=subset, split=split)


def _patterns(task: Task, part: Part) -> list[str]:
    """Where in a folder a task's files may lie, without what packs them."""
    own = task.files.items if part == "items" else task.files.demonstrations
    usual = [f"{task.name}/{{language}}.jsonl", "{language}.jsonl"] if part == "items" else []
    return ([own] if own else []) + usual


def _name(task: Task, language: str) -> str:
    """What the task's data call a language, if they have a name of their own for it."""
    named = task.languages
    return named.get(language, language) if isinstance(named, dict) else language


def _beside(folder: Path) -> str:
    if not folder.is_dir():
        return f"there is no such folder in `{Path.cwd()}`; `hub` reads from the hub"
    inside = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    return f"it holds {', '.join(inside[:12])}" if inside else "it is empty"
