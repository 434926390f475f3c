"""Items of a task: their files, rows read as items, and scores."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from string import Formatter
from typing import Any, Literal

import numpy as np
from langcodes import tag_is_valid

from tongues.core.errors import UserError, nearest
from tongues.core.files import fingerprint, path_text
from tongues.evaluate.tasks.task import Fields, Normalisation, Task
from tongues.evaluate.words import WORDS
from tongues.recipe import Hub
from tongues.text.reading import Fault
from tongues.text.reading.hub import hub_rows, hub_source
from tongues.text.reading.kinds import read_records

_HUB = "hub"  # where items are read from the hub
_PACKED = ("", ".gz", ".zst")
_GROUP = 12  # digits of a group's fingerprint: of a million groups, two are equal with p < 0.002

Part = Literal["items", "demonstrations"]


class InvalidRow(Exception):
    """A row that is not an item: the reason, in words that can be counted, and the sample."""

    def __init__(self, reason: str, about: str) -> None:
        super().__init__(reason)
        self.reason, self.about = reason, about


@dataclass(frozen=True, slots=True)
class Item:
    """A question: a prompt, and for each choice the ending that is scored after it."""

    id: str
    prompt: str
    endings: tuple[str, ...]
    label: int  # the right choice, counted from 0
    group: str = ""  # items of one group are not independent; "": a group of its own

    def shown(self, separator: str) -> str:
        """With the right choice, as a demonstration shows it."""
        return joined(self.prompt, separator, self.endings[self.label])


def joined(prompt: str, separator: str, ending: str) -> str:
    """A prompt with its ending; an empty prompt has no separator."""
    return f"{prompt}{separator}{ending}" if prompt else ending


@dataclass(frozen=True, slots=True)
class ItemScore:
    """A model's score of an item, for each choice."""

    id: str
    label: int
    sums: tuple[float, ...]  # log-likelihoods, nats
    tokens: tuple[int, ...]  # of each choice
    characters: tuple[int, ...]  # without the separator before it
    group: str = ""  # the item's

    def scores(self, normalisation: Normalisation) -> np.ndarray:
        """The normalised score of each choice; the highest is the model's answer."""
        lengths = {"token": self.tokens, "character": self.characters}
        return np.array(self.sums) / np.array(lengths.get(normalisation, 1), dtype=float)


def correct(scores: Sequence[ItemScore], normalisation: Normalisation) -> np.ndarray:
    """Whether the choice with the highest score is correct [items]; of ties, the first choice."""
    right = [int(np.argmax(score.scores(normalisation))) == score.label for score in scores]
    return np.array(right, dtype=bool)


@dataclass(frozen=True, slots=True)
class ItemFault:
    """Something that was not scored: a row that is not an item, or an item a model cannot score."""

    source: str  # the file or data set
    place: str  # `line 12`, `row 12` or the item's id
    reason: str  # a few words; faults are counted by reason
    sample: str  # the field concerned, or the beginning of the text


def count_faults(faults: Sequence[ItemFault]) -> list[str]:
    """A sentence for each reason: how many things it concerns, and the first of them."""
    first: dict[str, ItemFault] = {}
    for fault in faults:
        first.setdefault(fault.reason, fault)
    things = {(fault.reason, fault.source, fault.place) for fault in faults}
    counts = Counter(reason for reason, _, _ in things)
    return [
        WORDS["left_out"].format(count=counts[reason], **asdict(fault))
        for reason, fault in first.items()
    ]


@dataclass(frozen=True, slots=True)
class TaskItems:
    """Items of a source in its order, and a fault for each row that is not an item."""

    source: str
    items: tuple[Item, ...]
    faults: tuple[ItemFault, ...]


def read_items(task: Task, language: str, where: Path | str, *, part: Part = "items") -> TaskItems:
    """The items of a task in a language.

    A row that is not an item is among the faults. A UserError where nothing is left.
    """
    place = find_items(task, language, where, part)
    if place is None:
        raise UserError(f"`{task.name}` has no files of demonstrations", where=str(where))
    if isinstance(place, Path):
        source, kind, rows = path_text(place), "line", read_records(place)
    else:
        source, kind = hub_source(place), "row"
        name = f"{task.name}.hub.{language}"
        rows = ((state["row"], row) for row, state in hub_rows(place, name))
    items: dict[str, Item] = {}
    faults: list[ItemFault] = []
    for number, row in rows:
        try:
            if isinstance(row, Fault):
                raise InvalidRow(row.reason, row.sample)
            item = _item(task, row, number, items)
        except InvalidRow as error:
            faults.append(ItemFault(source, f"{kind} {number}", error.reason, error.about))
        else:
            items[item.id] = item
    if not items:
        hint = "; ".join(count_faults(faults)) or "it is empty"
        raise UserError(f"holds no item of `{task.name}`", where=source, hint=hint)
    return TaskItems(source, tuple(items.values()), tuple(faults))


def _item(task: Task, row: Fields, number: int, known: Collection[str]) -> Item:
    name = str(number) if task.id is None else _field(row, task.id)
    if name in known:
        raise InvalidRow("id twice", f"`{name}`")
    group = fingerprint([_filled(f"{{{task.group}}}", row)])[:_GROUP] if task.group else ""
    try:
        row = task.prepared(row) if task.prepared else row
    except KeyError as error:
        raise InvalidRow("word unknown", f"`{error.args[0]}`") from None
    endings = tuple(_filled(template, row) for template in task.choices)
    prompt = _filled(task.prompt, row, blank=True)
    if task.prompt and not prompt.strip():
        raise InvalidRow("empty prompt", "nothing is left of it")
    try:
        "".join([prompt, *endings]).encode()
    except UnicodeEncodeError:
        raise InvalidRow("bad encoding", "half a surrogate pair") from None
    if len(set(endings)) < len(endings):
        raise InvalidRow("choices alike", f"`{endings[0][:60]}`")
    labels = list(map(_text, task.labels or range(len(endings))))
    value = _field(row, task.label) if task.label else labels[0]
    if value not in labels:
        raise InvalidRow("label out of range", f"`{value}` is none of {', '.join(labels)}")
    return Item(name, prompt, endings, labels.index(value), group)


def _filled(template: str, row: Fields, *, blank: bool = False) -> str:
    """A template filled with a row's fields; blank: whether these may be."""
    used = {name: row.get(name) for _, name, *_ in Formatter().parse(template) if name}
    for name, value in used.items():
        if name not in row:
            raise InvalidRow("field missing", f"`{name}`")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InvalidRow("field is not text", f"`{name}`")
        if not (blank or str(value).strip()):
            raise InvalidRow("empty choice", f"`{name}`")
    return template.format_map(used)


def _field(row: Mapping[str, Any], name: str) -> str:
    if row.get(name) is None:
        raise InvalidRow("field missing", f"`{name}`")
    return _text(row[name])


def _text(value: Any) -> str:
    """A label or id as text; 1.0 is 1, as tables with gaps write whole numbers."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).strip()


def find_items(
    task: Task, language: str, where: Path | str, part: Part = "items"
) -> Path | Hub | None:
    """The file or data set with a language's items, or with its demonstrations; None without any.

    where: a folder or `hub`. In a folder it is `NAME/{language}.jsonl`, packed or not.
    """
    if _is_hub(where):
        return _on_hub(task, language, part)
    folder = Path(where)
    pattern = task.demonstrations if part == "demonstrations" else f"{task.name}/{{language}}.jsonl"
    file = pattern.replace("{language}", language)
    for path in (folder / f"{file}{packed}" for packed in _PACKED if file):
        if path.is_file():
            return path
    if part == "demonstrations":
        return None
    there = languages_in(task, folder)
    what = f"has no items of `{task.name}` in `{language}`: there is no `{file}`"
    hint = f"there are {', '.join(there)}" if there else _content(folder)
    raise UserError(what, where=path_text(folder), hint=hint)


def find_languages(task: Task, where: Path | str) -> list[str]:
    """The languages that have items at a place, sorted; empty where that is unknown."""
    folder, languages = Path(where), languages_in(task, where)
    if languages or _is_hub(where):
        return languages
    what = f"has no items of `{task.name}` in any language"
    raise UserError(what, where=path_text(folder), hint=_content(folder))


def languages_in(task: Task, where: Path | str) -> list[str]:
    """The languages that have items at a place, sorted, or none."""
    if _is_hub(where):
        return sorted(task.languages)
    files = Path(where, task.name).glob("*.jsonl*")
    matches = [re.fullmatch(r"(.+)\.jsonl(\.gz|\.zst)?", path.name) for path in files]
    return sorted(filter(tag_is_valid, {match[1] for match in matches if match}))


def _is_hub(where: Path | str) -> bool:
    return str(where) == _HUB


def _on_hub(task: Task, language: str, part: Part) -> Hub | None:
    if task.hub is None:
        what, hint = "names no data set of the hub", "name a folder with its files"
        raise UserError(what, where=task.name, hint=hint)
    split = task.hub.split if part == "items" else task.hub.demonstrations
    if task.languages and language not in task.languages:
        hint = nearest(language, task.languages)
        raise UserError(f"has no items in `{language}`", where=task.name, hint=hint)
    subset = task.hub.subset and task.hub.subset.replace("{language}", language)
    return Hub(dataset=task.hub.dataset, subset=subset, split=split) if split else None


def _content(folder: Path) -> str:
    if not folder.is_dir():
        return f"there is no such folder in `{Path.cwd()}`; name a folder, or `hub`"
    inside = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    return f"it holds {', '.join(inside[:12])}" if inside else "it is empty"
