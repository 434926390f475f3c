"""What models are asked of a task: shuffled items, and demonstrations that all of them share."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tongues.errors import UserError
from tongues.evaluate.tasks.items import (
    Item,
    ItemFault,
    Unfitting,
    find_items,
    find_languages,
    languages_in,
    read_items,
)
from tongues.evaluate.tasks.task import TASKS, Task, load_task
from tongues.files import fingerprint
from tongues.randomness import derive_seed

__all__ = ["Exam", "is_task", "joined_exams", "set_exam", "set_exams"]


@dataclass(frozen=True, slots=True)
class Exam:
    """All that a model is asked of a task in a language."""

    task: Task
    language: str
    items: tuple[Item, ...]
    demonstrations: tuple[tuple[Item, ...], ...]  # of each draw; one draw of none without
    sources: tuple[str, ...]  # of the items, and of the demonstrations where there are any
    faults: tuple[ItemFault, ...]  # what is not asked, such as rows that are no items
    spare: tuple[Item, ...] = ()  # may replace items that a model cannot be asked

    def fingerprint(self, draw: int) -> str:
        """Changes with anything that a model's answers in a draw depend on."""
        form = [self.task.separator, self.task.demonstrations_end, self.task.unconditional]
        items = [asdict(item) for item in (*self.items, *self.demonstrations[draw])]
        return fingerprint([form, len(self.items), items])


def is_task(name: str) -> bool:
    """Whether a task is meant: a registered one, or a task's file."""
    return name in TASKS.names() or name.endswith((".yaml", ".yml"))


def set_exams(
    name: str, languages: Sequence[str] | None, where: str | Sequence[str], **how: Any
) -> dict[str, Exam]:
    """What models are asked of a task, by language.

    languages: those wanted; None: all of the task's that lie at `where`. where: a place as
    `set_exam` takes it, or several, of which one at most holds a language; where the task's name
    tells which these are, nothing else counts. how: as `set_exam` takes.
    """
    task = load_task(name)
    places = [where] if isinstance(where, str) else list(dict.fromkeys(where))
    place_of = _places_of(task, places) or dict.fromkeys(languages or (), places[0])
    wanted = languages or list(place_of)
    if not wanted:
        hint = "name them, such as `--languages fr`"
        raise UserError("in which languages?", where=task.name, hint=hint)
    for lang in wanted:
        if lang not in place_of:
            what = f"has no items of `{task.name}` in `{lang}`"
            raise UserError(what, where=", ".join(places), hint=f"there are {', '.join(place_of)}")
    return {lang: set_exam(task, lang, place_of[lang], **how) for lang in wanted}


def _places_of(task: Task, places: Sequence[str]) -> dict[str, str]:
    """The place of each language's items; empty where that cannot be told, as of a single file."""
    if len(places) == 1:
        return dict.fromkeys(find_languages(task, places[0]), places[0])
    if file := next((place for place in places if Path(place).is_file()), None):
        what = f"which languages of `{task.name}` it holds cannot be told"
        raise UserError(what, where=file, hint="name it alone, or name folders")
    for named in (True, False):
        place_of: dict[str, str] = {}
        for place in places:
            for lang in languages_in(task, place, named=named):
                if lang in place_of:
                    what = f"items of `{task.name}` in `{lang}` lie there and in `{place_of[lang]}`"
                    raise UserError(what, where=place, hint="name one of the two")
                place_of[lang] = place
        if place_of:
            return dict(sorted(place_of.items()))
    what = f"hold no items of `{task.name}` in any language"
    raise UserError(what, where=", ".join(places), hint=f"`{task.name}/sw.jsonl` would be one")


def joined_exams(
    exams: Mapping[str, Mapping[str, Exam]], more: Mapping[str, Exam]
) -> dict[str, dict[str, Exam]]:
    """Exams by task and language with more of a task; two tasks of one name are a UserError."""
    task = next(iter(more.values())).task
    there = exams.get(task.name, {})
    if any(exam.task != task for exam in there.values()):
        raise UserError("two tasks have this name", where=task.name, hint="name one of them anew")
    return {name: dict(by) for name, by in exams.items()} | {task.name: {**there, **more}}


def set_exam(
    task: Task,
    language: str,
    where: Path | str,
    *,
    most: int | None = None,
    shots: int = 0,
    draws: int = 1,
    demonstrations_language: str | None = None,
    templates: str = "english",
    seed: int = 0,
    unfit: Unfitting = "skip",
) -> Exam:
    """Read a task's items and draw its demonstrations.

    Items and demonstrations follow from the seed and their ids: they are the same in every
    language of parallel data, and the same for every model.

    most: items, the first of the shuffled ones; all without. shots, draws: demonstrations of a
    draw, and how often they are drawn. demonstrations_language: the items' own without. They lie
    where the task says; where it says nothing they are taken from the items, which are then not
    scored in any draw. The rest: as `read_items`.
    """
    read = read_items(task, language, where, templates=templates, unfit=unfit)
    order = _shuffled(read.items, seed, task.name)
    if not shots:
        items, spare = tuple(order[:most]), tuple(order[most:]) if most is not None else ()
        return Exam(task, language, items, ((),), (read.source,), read.faults, spare)
    spoken = demonstrations_language or language
    if spoken != language and Path(where).is_file():
        what = f"is one file, which has no demonstrations in `{spoken}`"
        raise UserError(what, where=str(where), hint="name the folder that holds both")
    apart = find_items(task, spoken, where, "demonstrations") is not None
    part = "demonstrations" if apart else "items"
    other = read_items(task, spoken, where, part=part, templates=templates, unfit=unfit)
    reserved = set() if apart else {item.id for item in order[-shots * draws :]}
    free = [item for item in order if item.id not in reserved]
    items, spare = tuple(free[:most]), tuple(free[most:]) if most is not None else ()
    if not items:
        what = f"has {len(order)} items, of which {shots} × {draws} would be demonstrations"
        hint = "ask for fewer, or lay demonstrations apart (`files.demonstrations`)"
        raise UserError(what, where=f"{task.name} in {language}", hint=hint)
    scored = set() if apart else {item.id for item in items}
    pool = [item for item in other.items if item.id not in scored]
    if len(pool) < shots:
        what = f"{shots} demonstrations are asked for and there are {len(pool)}"
        raise UserError(what, where=task.name, hint="ask for fewer, or for fewer items with `most`")
    drawn = tuple(
        tuple(_shuffled(pool, seed, task.name, "demonstrations", draw)[:shots])
        for draw in range(draws)
    )
    if not apart:
        shown = {item.id for each in drawn for item in each}
        spare = tuple(item for item in spare if item.id not in shown)
    faults = read.faults if other.source == read.source else (*read.faults, *other.faults)
    return Exam(task, language, items, drawn, (read.source, other.source), faults, spare)


def _shuffled(items: Collection[Item], seed: int, *names: str | int) -> list[Item]:
    """Items in an order that depends on the seed, the names and their ids alone."""
    return sorted(items, key=lambda item: (derive_seed(seed, *names, item.id), item.id))
