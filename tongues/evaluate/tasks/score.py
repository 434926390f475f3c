"""The scores of a model on the items of a task, as rows of tokens.

Prompt and choice are joined as in lm-eval: white space that ends the prompt belongs to the choice,
both are encoded as one text, and the tokens of the prompt alone are cut from its front.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tongues.evaluate.losses import Spelling
from tongues.evaluate.rows import Row, Tell, score_rows, too_long
from tongues.evaluate.tasks.fewshot import END_OF_DEMONSTRATION, FewShotTask
from tongues.evaluate.tasks.items import Item, ItemFault, ItemScore, joined
from tongues.evaluate.tasks.task import Task
from tongues.evaluate.words import WORDS
from tongues.experts.ensemble.model import Model

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
        reason, sample = _TOO_LONG, WORDS["too_long"].format(model=model.name, shots=shots, **about)
    elif missing > _MISSING:
        reason = "script missing"
        sample = WORDS["no_tokens"].format(model=model.name, share=missing)
    elif len({row.tokens.tobytes() for row in rows}) < len(rows) or any(
        row.start >= len(row.tokens) for row in rows
    ):
        reason = "choices alike"
        sample = WORDS["same_tokens"].format(model=model.name)
    else:
        return None
    source = f"{fewshot.task.name} in {fewshot.language}"
    return ItemFault(source, f"item {item.id}", reason, sample)
