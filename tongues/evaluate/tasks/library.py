"""The tasks of the published evaluations, whose prompts and examples are in English everywhere."""

from typing import Any
from unicodedata import category

from tongues.core.beside import read_beside
from tongues.evaluate.tasks.task import TASKS, Fields, OnHub, Task

_BECAUSE = {"cause": "because", "effect": "therefore"}


def copa_row(row: Fields) -> Fields:
    """A premise without its last mark, the word that joins, and choices that go on with it."""
    words = {key: text for key, text in row.items() if isinstance(text, str)}
    if "premise" in words:
        words["premise"] = _open(words["premise"])
    if "question" in words:
        words["question"] = _BECAUSE[words["question"]]
    for key in {"choice1", "choice2"} & words.keys():
        words[key] = words[key][:1].lower() + words[key][1:]
    return {**row, **words}


def _open(text: str) -> str:
    text = text.strip()
    return text[:-1] if text and category(text[-1]).startswith("P") else text


def _as_task(name: str, values: dict[str, Any]) -> Task:
    """A task of `library.toml`; lists are tuples, and languages are words."""
    fixed: dict[str, Any] = {
        key: tuple(x) if isinstance(x, list) else x for key, x in values.items()
    }
    fixed |= {"languages": tuple(values["languages"].split()), "hub": OnHub(*values["hub"])}
    return Task(name, **fixed, prepared=copa_row if name == "xcopa" else None)


for _name, _values in read_beside(__file__, "library.toml").items():
    TASKS.add(_as_task(_name, _values))
