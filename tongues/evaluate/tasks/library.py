"""The tasks of the published evaluations, whose prompts and examples are in English everywhere."""

from typing import Any
from unicodedata import category

from tongues.core.beside import read_beside
from tongues.evaluate.tasks.task import TASKS, Fields, OnHub, Task

_BECAUSE = {"cause": "because", "effect": "therefore"}


def copa_row(row: Fields) -> Fields:
    """A premise without its last mark, the word that joins, and choices that continue it."""
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


for _name, _row in read_beside(__file__, "library.toml").items():
    _row |= {"languages": _row["languages"].split()}
    _fixed: dict[str, Any] = {x: tuple(y) if isinstance(y, list) else y for x, y in _row.items()}
    _fixed |= {"hub": OnHub(*_row["hub"]), "prepared": copa_row if _name == "xcopa" else None}
    TASKS.add(Task(_name, **_fixed))
