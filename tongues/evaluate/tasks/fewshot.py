"""A task as models get it: shuffled items, and demonstrations that all models share."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tongues.core.errors import UserError
from tongues.core.files import fingerprint
from tongues.core.randomness import derive_seed
from tongues.core.significance import detectable_before
from tongues.evaluate.tasks.items import (
    Item,
    ItemFault,
    find_items,
    find_languages,
    read_items,
)
from tongues.evaluate.tasks.task import TASKS, Task
from tongues.evaluate.words import WORDS

END_OF_DEMONSTRATION = "\n\n"


@dataclass(frozen=True, slots=True)
class FewShotTask:
    """The items of a task in a language, and the demonstrations before them."""

    task: Task
    language: str
    items: tuple[Item, ...]
    demonstrations: tuple[tuple[Item, ...], ...]  # of each draw; one empty draw for zero-shot
    faults: tuple[ItemFault, ...]  # rows that are not items

    @property
    def power(self) -> str:
        """What a comparison of two models on these items could detect, as a sentence."""
        groups = [item.group or item.id for item in self.items]
        ends = detectable_before([len(item.endings) for item in self.items], groups)
        size = " to ".join(dict.fromkeys(f"{100 * end:.1f}" for end in ends))
        fewer = len(set(groups)) < len(groups)
        inside = f" in {len(set(groups)):,} groups" if fewer else ""
        about = {"task": self.task.name, "language": self.language, "size": size}
        return WORDS["power"].format(**about, count=f"{len(groups):,} items{inside}")

    def fingerprint(self, draw: int) -> str:
        """Changes with anything that a model's answers in a draw depend on."""
        form = [self.task.separator, END_OF_DEMONSTRATION]
        items = [asdict(item) for item in (*self.items, *self.demonstrations[draw])]
        return fingerprint([form, len(self.items), items])


def read_fewshot_tasks(
    named: str, languages: Sequence[str] | None, where: str, **how: Any
) -> dict[str, FewShotTask]:
    """A task by language; named: such as `xcopa`, or `xcopa:sw,tr` for some languages.

    languages: where `named` names none; None for all that `where` has. where, how: as
    `read_fewshot_task` takes.
    """
    name, colon, tags = named.partition(":")
    own = list(dict.fromkeys(filter(None, map(str.strip, tags.split(",")))))
    if colon and not own:
        raise UserError("names no language", where=named, hint="such as `sw,tr`")
    task, languages = TASKS.find(name), own or languages
    there = find_languages(task, where) or languages
    if not there:
        hint = "name them, such as `--languages fr`"
        raise UserError("in which languages?", where=task.name, hint=hint)
    return {lang: read_fewshot_task(task, lang, where, **how) for lang in languages or there}


def read_fewshot_task(
    task: Task,
    language: str,
    where: Path | str,
    *,
    limit: int | None = None,
    num_fewshot: int = 0,
    fewshot_seeds: int = 1,
    fewshot_language: str | None = None,
) -> FewShotTask:
    """Read a task's items and draw its demonstrations.

    Items and demonstrations follow from their ids: they are the same in every
    language of parallel data, and the same for every model. Where the task names no demonstrations,
    they are taken from the items, which are then not scored in any draw.

    limit: items, the first of the shuffled ones. fewshot_seeds: how often the demonstrations are
    drawn. fewshot_language: None for the items' own.
    """
    read = read_items(task, language, where)
    order = _shuffled(read.items, task.name)
    if not num_fewshot:
        items = tuple(order[:limit])
        return FewShotTask(task, language, items, ((),), read.faults)
    shown = fewshot_language or language
    separate = find_items(task, shown, where, "demonstrations") is not None
    part = "demonstrations" if separate else "items"
    other = read_items(task, shown, where, part=part)
    reserved = set() if separate else {item.id for item in order[-num_fewshot * fewshot_seeds :]}
    items = tuple(item for item in order if item.id not in reserved)[:limit]
    if not items:
        drawn = f"{num_fewshot} × {fewshot_seeds}"
        what = f"has {len(order)} items, of which {drawn} would be demonstrations"
        hint = "use fewer, or put demonstrations in files of their own"
        raise UserError(what, where=f"{task.name} in {language}", hint=hint)
    scored = set() if separate else {item.id for item in items}
    pool = [item for item in other.items if item.id not in scored]
    if len(pool) < num_fewshot:
        what = f"{num_fewshot} demonstrations are needed, there are {len(pool)}"
        raise UserError(what, where=task.name, hint="lower `--num-fewshot`, or `--limit`")
    drawn = tuple(
        tuple(_shuffled(pool, task.name, "demonstrations", draw)[:num_fewshot])
        for draw in range(fewshot_seeds)
    )
    faults = read.faults if other.source == read.source else (*read.faults, *other.faults)
    return FewShotTask(task, language, items, drawn, faults)


def _shuffled(items: Collection[Item], *names: str | int) -> list[Item]:
    return sorted(items, key=lambda item: (derive_seed(0, *names, item.id), item.id))
