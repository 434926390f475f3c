"""What a model is asked: the first shuffled items, and demonstrations that all of them share."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tongues.errors import UserError
from tongues.evaluate.tasks.faults import ItemFault
from tongues.evaluate.tasks.items import Item, Unfitting, read_items
from tongues.evaluate.tasks.places import find_items
from tongues.evaluate.tasks.task import Task
from tongues.files import fingerprint
from tongues.randomness import derive_seed

__all__ = ["Exam", "draw_demonstrations", "set_exam", "shuffled"]


@dataclass(frozen=True, slots=True)
class Exam:
    """All that a model is asked of a task in a language.

    demonstrations: of each draw, those that stand before every item; one draw of none without.
    sources: where the items came from, and the demonstrations where there are any. spare: where
    not all items are asked, those that may take the place of some that a model cannot be asked.
    """

    task: Task
    language: str
    items: tuple[Item, ...]
    demonstrations: tuple[tuple[Item, ...], ...]
    sources: tuple[str, ...]
    faults: tuple[ItemFault, ...]  # what is not asked, such as rows that are no items
    spare: tuple[Item, ...] = ()

    def fingerprint(self, draw: int) -> str:
        """Changes with anything that a model's answers in a draw depend on."""
        asked = [self.task.separator, self.task.demonstrations_end, self.task.unconditional]
        told = [asdict(item) for item in (*self.items, *self.demonstrations[draw])]
        return fingerprint([asked, len(self.items), told])


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
    order = shuffled(read.items, seed, task.name)
    if not shots:
        asked, spare = _parted(order, most)
        return Exam(task, language, asked, ((),), (read.source,), read.faults, spare)
    spoken = demonstrations_language or language
    if spoken != language and Path(where).is_file():
        what = f"is one file, which has no demonstrations in `{spoken}`"
        raise UserError(what, where=str(where), hint="name the folder that holds both")
    apart = find_items(task, spoken, where, "demonstrations") is not None
    part = "demonstrations" if apart else "items"
    told = read_items(task, spoken, where, part=part, templates=templates, unfit=unfit)
    kept = set() if apart else {item.id for item in order[-shots * draws :]}
    asked, spare = _parted([item for item in order if item.id not in kept], most)
    if not asked:
        what = f"has {len(order)} items, of which {shots} × {draws} would be demonstrations"
        hint = "ask for fewer, or lay demonstrations apart (`files.demonstrations`)"
        raise UserError(what, where=f"{task.name} in {language}", hint=hint)
    scored = () if apart else {item.id for item in asked}
    pool = [item for item in told.items if item.id not in scored]
    chosen = tuple(draw_demonstrations(task, pool, shots, draw, seed) for draw in range(draws))
    if not apart:
        shown = {item.id for drawn in chosen for item in drawn}
        spare = tuple(item for item in spare if item.id not in shown)
    faults = read.faults if told.source == read.source else (*read.faults, *told.faults)
    return Exam(task, language, asked, chosen, (read.source, told.source), faults, spare)


def draw_demonstrations(
    task: Task, pool: Sequence[Item], shots: int, draw: int, seed: int
) -> tuple[Item, ...]:
    """The demonstrations of a draw, in the order in which they are shown."""
    if len(pool) < shots:
        what = f"{shots} demonstrations are asked for and there are {len(pool)}"
        raise UserError(what, where=task.name, hint="ask for fewer, or for fewer items with `most`")
    return tuple(shuffled(pool, seed, task.name, "demonstrations", draw)[:shots])


def _parted(items: Sequence[Item], most: int | None) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """The items that are asked, and those left over."""
    return tuple(items[:most]), tuple(items[most:]) if most is not None else ()


def shuffled(items: Collection[Item], seed: int, *names: str | int) -> list[Item]:
    """Items in an order that depends on the seed, the names and their ids alone."""
    return sorted(items, key=lambda item: (derive_seed(seed, *names, item.id), item.id))
