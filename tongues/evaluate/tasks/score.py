"""The scores of a model on the items of a task, as rows of tokens.

Prompt and choice are joined as in lm-eval: white space that ends the prompt belongs to the choice,
both are encoded as one text, and the tokens of the prompt alone are cut from its front.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tongues.core.errors import UserError
from tongues.core.files import fingerprint
from tongues.core.randomness import derive_seed
from tongues.core.significance import detectable_before
from tongues.evaluate import words
from tongues.evaluate.losses import Spelling
from tongues.evaluate.rows import Row, Tell, score_rows, too_long
from tongues.evaluate.tasks.items import (
    Item,
    ItemFault,
    ItemScore,
    find_items,
    find_languages,
    joined,
    read_items,
)
from tongues.evaluate.tasks.task import TASKS, Task
from tongues.evaluate.words import POWER
from tongues.experts.ensemble.model import Model

# A task as models get it: shuffled items, and demonstrations that all models share.

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
        return POWER.format(**about, count=f"{len(groups):,} items{inside}")

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


_TOO_LONG = "too long for the model"
_MISSING = 0.1  # chosen; of an item's letters: its script counts as missing in a tokenizer


@dataclass(frozen=True, slots=True)
class Answers:
    """A model's scores, item by item, and the items that it cannot score."""

    scores: tuple[ItemScore, ...]
    faults: tuple[ItemFault, ...]


def fewshot_prefix(task: Task, demonstrations: Sequence[Item]) -> str:
    """The text before every item of a draw."""
    shown = (item.shown(task.separator) for item in demonstrations)
    return "".join(f"{text}{END_OF_DEMONSTRATION}" for text in shown)


def score_task(
    model: Model,
    fewshot: FewShotTask,
    draw: int = 0,
    *,
    tell: Tell = lambda share, line: None,
) -> Answers:
    """Score every choice of every item behind the demonstrations of a draw.

    Items that the model cannot score (longer than its context, or in a script that its tokenizer
    does not know) are among the faults.
    """
    task, spelling = fewshot.task, Spelling(model.tokenizer)
    before = fewshot_prefix(task, fewshot.demonstrations[draw])
    items: list[tuple[Item, list[Row]]] = []
    faults: list[ItemFault] = []
    for item in fewshot.items:
        rows = [
            _row(
                model,
                f"{before}{item.prompt}",
                f"{before}{joined(item.prompt, task.separator, ending)}",
                fewshot.language,
                len(items),
            )
            for ending in item.endings
        ]
        fault = _fault(model, fewshot, item, rows, spelling, len(fewshot.demonstrations[draw]))
        if fault is None:
            items.append((item, rows))
        else:
            faults.append(fault)
    scored = score_rows(model, [row for _, rows in items for row in rows], tell=tell)
    sums = iter([-float(row.nats.sum()) for row in scored])
    scores = [
        ItemScore(
            item.id,
            item.label,
            tuple(next(sums) for _ in rows),
            tuple(len(row.tokens) - row.start for row in rows),
            tuple(map(len, item.endings)),
            item.group,
        )
        for item, rows in items
    ]
    return Answers(tuple(scores), tuple(faults))


def _row(model: Model, context: str, text: str, language: str, family: int) -> Row:
    """A text whose end is scored; one without a context begins as any text does."""
    length = len(model.encode(context.rstrip())) if context.rstrip() else 0
    first = [model.first] if model.prompted or not length else []
    tokens = np.concatenate([np.array(first, dtype=np.int64), model.encode(text)])
    return Row(tokens, len(first) + length, language, family)


def _fault(
    model: Model,
    fewshot: FewShotTask,
    item: Item,
    rows: Sequence[Row],
    spelling: Spelling,
    shots: int,
) -> ItemFault | None:
    longest = max(rows, key=lambda row: len(row.tokens))
    missing = spelling.missing(" ".join({item.prompt, *item.endings}))
    if too_long(model, longest):
        about = {"tokens": len(longest.tokens), "context": model.ensemble.context}
        reason, sample = _TOO_LONG, words.TOO_LONG.format(model=model.name, shots=shots, **about)
    elif missing > _MISSING:
        reason = "script missing"
        sample = words.NO_TOKENS.format(model=model.name, share=missing)
    elif len({row.tokens.tobytes() for row in rows}) < len(rows) or any(
        row.start >= len(row.tokens) for row in rows
    ):
        reason = "choices alike"
        sample = words.SAME_TOKENS.format(model=model.name)
    else:
        return None
    source = f"{fewshot.task.name} in {fewshot.language}"
    return ItemFault(source, f"item {item.id}", reason, sample)
