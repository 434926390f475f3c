"""Items as rows of tokens.

The seam between prompt and choice is lm-eval's: white space that ends the prompt belongs to the
choice, all of it is encoded at once, and what the prompt alone has in tokens is cut from its front.
"""

from collections.abc import Sequence

import numpy as np

from tongues.evaluate.rows import Row
from tongues.evaluate.tasks.items import Item, joined
from tongues.evaluate.tasks.task import Task
from tongues.experts.ensemble.model import Model

__all__ = ["before_items", "choice_alone", "choices_of"]


def before_items(task: Task, demonstrations: Sequence[Item]) -> str:
    """The text that stands before every item of a draw."""
    shown = (item.shown(task.separator) for item in demonstrations)
    return "".join(f"{text}{task.demonstrations_end}" for text in shown)


def choices_of(
    subject: Model, task: Task, item: Item, before: str, language: str, family: int
) -> list[Row]:
    """Each choice of an item behind its prompt and the text before it."""
    lengths: dict[str, int] = {}  # of contexts, in tokens: choices mostly share one
    found = []
    for prompt, ending in zip(item.prompts, item.endings, strict=True):
        context = f"{before}{prompt}"
        if context not in lengths:
            lengths[context] = _length(subject, context)
        whole = f"{before}{joined(prompt, task.separator, ending)}"
        found.append(_row(subject, whole, lengths[context], language, family))
    return found


def choice_alone(subject: Model, task: Task, ending: str, language: str, family: int) -> Row:
    """A choice behind the task's unconditional prompt, or behind nothing."""
    context = task.unconditional
    whole = f"{context}{task.separator}{ending}"
    return _row(subject, whole, _length(subject, context), language, family)


def _length(subject: Model, context: str) -> int:
    """The tokens of a context without the white space that ends it."""
    return len(subject.encode(context.rstrip())) if context.rstrip() else 0


def _row(subject: Model, whole: str, context: int, language: str, family: int) -> Row:
    """Behind what stands before prompts; where nothing is asked behind, before texts."""
    begun = [subject.first] if subject.prompted or not context else []
    tokens = np.concatenate([np.array(begun, dtype=np.int64), subject.encode(whole)])
    return Row(tokens, len(begun) + context, language, family)
