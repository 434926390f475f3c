"""Tasks: their items, prompts and correct choices.

A task is an open kind: another package adds one by an entry point of the group `tongues.tasks`,
whose value is a `Task`. Tasks that need no examples of another language are lm-eval's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tongues.core.registry import Registry

Normalisation: TypeAlias = Literal["token", "character", "sum"]
Fields: TypeAlias = Mapping[str, Any]  # a row of a data set


@dataclass(frozen=True, slots=True)
class OnHub:
    """A task's data set on the hub; `{language}` is replaced by the language."""

    dataset: str
    subset: str | None = None
    split: str = "test"
    demonstrations: str | None = None  # their split; None: among the items


@dataclass(frozen=True, slots=True)
class Task:
    """Items of several choices, of which the one with the highest score is the answer.

    Choices are scored behind the prompt. Both are templates of `str.format`, filled by a row's
    fields: `{premise}, right?`.

    Parameters
    ----------
    name: of the task, and of the folder of its items.
    summary: what the items ask.
    languages: of the data set on the hub; empty: any.
    demonstrations: of a folder, their file, such as `xnli_val/{language}.jsonl`; empty: among the
        items.
    id: the field that names an item; None: it is known by its row's number.
    group: a field; items with the same text in it are not independent. Empty: all are.
    prepared: changes a row before it is filled in; a KeyError names a word it does not know.
    separator: between a prompt and a choice.
    label: the field of the right choice; None: the first is right.
    labels: its values, one a choice; empty: 0, 1, 2, …
    """

    name: str
    summary: str
    prompt: str
    choices: tuple[str, ...]
    languages: tuple[str, ...] = ()
    hub: OnHub | None = None
    demonstrations: str = ""
    id: str | None = None
    group: str = ""
    prepared: Callable[[Fields], Fields] | None = None
    separator: str = " "
    label: str | None = "label"
    labels: tuple[str | int, ...] = ()
    normalisation: Normalisation = "token"


TASKS: Registry[Task] = Registry("task", "tongues.tasks")
