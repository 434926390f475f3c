"""What a model says to the items of a task."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tongues.evaluate.rows import Row, score_rows, too_long
from tongues.evaluate.tasks.choices import ItemScore
from tongues.evaluate.tasks.demonstrations import Exam
from tongues.evaluate.tasks.faults import ItemFault, stop_at
from tongues.evaluate.tasks.items import Item, Unfitting
from tongues.evaluate.tasks.prompts import before_items, choice_alone, choices_of
from tongues.evaluate.tasks.spelling import Spelling
from tongues.experts.ensemble.model import Model

__all__ = ["Answers", "fitted", "score_task"]

_LACKING = 0.1  # of an item's letters, from which a tokenizer lacks its script


@dataclass(frozen=True, slots=True)
class Answers:
    """A model's scores, item by item, and the items it could not be asked."""

    scores: tuple[ItemScore, ...]
    faults: tuple[ItemFault, ...]


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
    the model cannot be asked are passed over and told among the faults, or are an error: those
    longer than the model can see, and those in a script that its tokenizer lacks.
    """
    task, language = exam.task, exam.language
    before = before_items(task, exam.demonstrations[draw])
    spelling, shots = Spelling(subject.tokenizer), len(exam.demonstrations[draw])
    asked: list[tuple[Item, list[Row]]] = []
    faults: list[ItemFault] = []
    for item in exam.items:
        rows = choices_of(subject, task, item, before, language, len(asked))
        fault = _fault(subject, exam, item, rows, spelling, shots)
        if fault is None:
            asked.append((item, rows))
            continue
        if unfit == "stop":
            raise stop_at(fault, _advice(fault, shots))
        faults.append(fault)
    if not asked:
        return Answers((), tuple(faults))
    alone: dict[str, Row] = {}
    for ending in (ending for item, _ in asked for ending in item.endings if unconditional):
        if ending not in alone:
            alone[ending] = choice_alone(subject, task, ending, language, len(asked) + len(alone))
    together = [row for _, rows in asked for row in rows]
    found = score_rows(subject, [*together, *alone.values()], tell=tell)
    totals = [-float(one.nats.sum()) for one in found]
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
        for item, rows in asked
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
    known = [Spelling(subject.tokenizer) for subject in subjects]
    for place, item in enumerate((*exam.items, *exam.spare)):
        fault = next(_faults(exam, item, subjects, known), None)
        if fault is None:
            kept.append(item)
        elif unfit == "stop":
            raise stop_at(fault, _advice(fault, len(exam.demonstrations[0])))
        else:
            faults.append(fault)
        if len(kept) == len(exam.items):
            break
        if not kept and place + 1 == len(exam.items):
            return exam
    return replace(exam, items=tuple(kept), faults=(*exam.faults, *faults), spare=())


def _faults(
    exam: Exam, item: Item, subjects: Sequence[Model], known: Sequence[Spelling]
) -> Iterator[ItemFault]:
    """Why subjects cannot be asked an item behind some draw's demonstrations."""
    for shown in exam.demonstrations:
        before = before_items(exam.task, shown)
        for subject, spelling in zip(subjects, known, strict=True):
            rows = choices_of(subject, exam.task, item, before, exam.language, 0)
            if fault := _fault(subject, exam, item, rows, spelling, len(shown)):
                yield fault


def _fault(
    subject: Model, exam: Exam, item: Item, rows: Sequence[Row], spelling: Spelling, shots: int
) -> ItemFault | None:
    """Why a model cannot be asked an item, if it cannot."""
    source = f"{exam.task.name} in {exam.language}"
    place = f"item {item.id}"
    longest = max(rows, key=lambda row: len(row.tokens))
    if too_long(subject, longest):
        behind = f" with {shots} demonstration{'s' if shots > 1 else ''}" if shots else ""
        sees = f"`{subject.name}` sees {subject.ensemble.context}"
        sample = f"{len(longest.tokens)} tokens{behind}, and {sees}"
        return ItemFault(source, place, "too long for the model", sample)
    missing = spelling.missing(" ".join({*item.prompts, *item.endings}))
    if missing > _LACKING:
        sample = f"the tokenizer of `{subject.name}` lacks {missing:.0%} of its letters"
        return ItemFault(source, place, "script missing", sample)
    spelled = {row.tokens.tobytes() for row in rows}
    if len(spelled) < len(rows) or any(row.start >= len(row.tokens) for row in rows):
        sample = f"the tokenizer of `{subject.name}` cannot tell its choices apart"
        return ItemFault(source, place, "choices alike", sample)
    return None


def _advice(fault: ItemFault, shots: int) -> str:
    if fault.reason != "too long for the model":
        return "leave such items out, or ask a model whose tokenizer has the script"
    fewer = "ask with fewer demonstrations, or " if shots else ""
    return f"{fewer}leave such items out; nothing is cut"
