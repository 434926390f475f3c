"""The scores of a model on the items of a task, as rows of tokens.

The seam between prompt and choice is lm-eval's: white space that ends the prompt belongs to the
choice, all of it is encoded at once, and what the prompt alone has in tokens is cut from its front.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tongues.errors import UserError
from tongues.evaluate.losses import Spelling
from tongues.evaluate.rows import Row, score_rows, too_long
from tongues.evaluate.tasks.exams import Exam
from tongues.evaluate.tasks.items import Item, ItemFault, ItemScore, Unfitting, joined, stop_at
from tongues.evaluate.tasks.task import Task
from tongues.experts.ensemble.model import Model

__all__ = ["Answers", "before_items", "fitted", "score_task"]

_TOO_LONG = "too long for the model"
_LACKING = 0.1  # of an item's letters, from which a tokenizer lacks its script


@dataclass(frozen=True, slots=True)
class Answers:
    """A model's scores, item by item, and the items it could not be asked."""

    scores: tuple[ItemScore, ...]
    faults: tuple[ItemFault, ...]


def before_items(task: Task, demonstrations: Sequence[Item]) -> str:
    """The text that stands before every item of a draw."""
    shown = (item.shown(task.separator) for item in demonstrations)
    return "".join(f"{text}{task.demonstrations_end}" for text in shown)


def score_task(
    subject: Model,
    exam: Exam,
    draw: int = 0,
    *,
    unconditional: bool = False,
    unfit: Unfitting = "stop",
    tell: Callable[[str], None] = lambda line: None,
) -> Answers:
    """Score every choice of every item behind the demonstrations of a draw.

    unconditional: score choices standing alone too, which `pmi` needs. unfit: whether items that
    the model cannot be asked are passed over and are among the faults, or are an error: those
    longer than the model can see, and those in a script that its tokenizer lacks.
    """
    task, asker = exam.task, _Asker(subject, exam, Spelling(subject.tokenizer))
    items: list[tuple[Item, list[Row]]] = []
    faults: list[ItemFault] = []
    for item in exam.items:
        rows = asker.rows(item, draw, family=len(items))
        if fault := asker.fault(item, rows, draw):
            if unfit == "stop":
                raise _stop(fault, exam)
            faults.append(fault)
        else:
            items.append((item, rows))
    if not items:
        return Answers((), tuple(faults))
    context = asker.length(task.unconditional)
    endings = dict.fromkeys(ending for item, _ in items for ending in item.endings)
    alone = {
        ending: asker.row(context, f"{task.unconditional}{task.separator}{ending}", family)
        for family, ending in enumerate(endings if unconditional else (), start=len(items))
    }
    together = [row for _, rows in items for row in rows]
    scored = score_rows(subject, [*together, *alone.values()], tell=tell)
    totals = [-float(one.nats.sum()) for one in scored]
    sums = iter(totals[: len(together)])
    by_text = dict(zip(alone, totals[len(together) :], strict=True))
    scores = [
        ItemScore(
            item.id,
            item.label,
            tuple(next(sums) for _ in rows),
            tuple(len(row.tokens) - row.start for row in rows),
            tuple(map(len, item.endings)),
            tuple(len(ending.encode()) for ending in item.endings),
            tuple(by_text[ending] for ending in item.endings) if unconditional else None,
        )
        for item, rows in items
    ]
    return Answers(tuple(scores), tuple(faults))


def fitted(exam: Exam, subjects: Sequence[Model], *, unfit: Unfitting = "skip") -> Exam:
    """An exam whose spare items have taken the place of those that a subject cannot be asked.

    All subjects are asked the same items then, as many as were wanted if there are so many. Without
    spare ones, or where none of the first can be asked, the exam is as it was. unfit: as in
    `score_task`.
    """
    if not exam.spare:
        return exam
    kept: list[Item] = []
    faults: list[ItemFault] = []
    askers = [_Asker(subject, exam, Spelling(subject.tokenizer)) for subject in subjects]
    for place, item in enumerate((*exam.items, *exam.spare)):
        each = (
            asker.fault(item, asker.rows(item, draw), draw)
            for draw in range(len(exam.demonstrations))
            for asker in askers
        )
        fault = next((fault for fault in each if fault), None)
        if fault is None:
            kept.append(item)
        elif unfit == "stop":
            raise _stop(fault, exam)
        else:
            faults.append(fault)
        if len(kept) == len(exam.items):
            break
        if not kept and place + 1 == len(exam.items):
            return exam
    return replace(exam, items=tuple(kept), faults=(*exam.faults, *faults), spare=())


@dataclass(frozen=True, slots=True)
class _Asker:
    """A model that is asked an exam."""

    subject: Model
    exam: Exam
    spelling: Spelling

    def rows(self, item: Item, draw: int, family: int = 0) -> list[Row]:
        """Each choice of an item behind its prompt and the demonstrations."""
        task = self.exam.task
        before = before_items(task, self.exam.demonstrations[draw])
        lengths = {prompt: self.length(f"{before}{prompt}") for prompt in {*item.prompts}}
        return [
            self.row(lengths[prompt], f"{before}{joined(prompt, task.separator, ending)}", family)
            for prompt, ending in zip(item.prompts, item.endings, strict=True)
        ]

    def length(self, context: str) -> int:
        return len(self.subject.encode(context.rstrip())) if context.rstrip() else 0

    def row(self, context: int, whole: str, family: int) -> Row:
        """Behind what stands before prompts; where nothing is asked behind, before texts."""
        begun = [self.subject.first] if self.subject.prompted or not context else []
        tokens = np.concatenate([np.array(begun, dtype=np.int64), self.subject.encode(whole)])
        return Row(tokens, len(begun) + context, self.exam.language, family)

    def fault(self, item: Item, rows: Sequence[Row], draw: int) -> ItemFault | None:
        """Why the model cannot be asked an item, if it cannot."""
        name, shots = self.subject.name, len(self.exam.demonstrations[draw])
        longest = max(rows, key=lambda row: len(row.tokens))
        missing = self.spelling.missing(" ".join({*item.prompts, *item.endings}))
        asked = {row.tokens.tobytes() for row in rows}
        if too_long(self.subject, longest):
            behind = f" with {shots} demonstration{'s' if shots > 1 else ''}" if shots else ""
            sees = f"`{name}` sees {self.subject.ensemble.context}"
            reason, sample = _TOO_LONG, f"{len(longest.tokens)} tokens{behind}, and {sees}"
        elif missing > _LACKING:
            reason = "script missing"
            sample = f"the tokenizer of `{name}` lacks {missing:.0%} of its letters"
        elif len(asked) < len(rows) or any(row.start >= len(row.tokens) for row in rows):
            reason = "choices alike"
            sample = f"the tokenizer of `{name}` cannot tell its choices apart"
        else:
            return None
        source = f"{self.exam.task.name} in {self.exam.language}"
        return ItemFault(source, f"item {item.id}", reason, sample)


def _stop(fault: ItemFault, exam: Exam) -> UserError:
    if fault.reason != _TOO_LONG:
        hint = "leave such items out, or ask a model whose tokenizer has the script"
        return stop_at(fault, hint)
    fewer = "ask with fewer demonstrations, or " if exam.demonstrations[0] else ""
    return stop_at(fault, f"{fewer}leave such items out; nothing is cut")
