"""Templates: text with `{field|filter|filter}` in it.

A field inside another, or inside a list, is `{choices.text.0}`. A literal brace is written twice.
The filters are those below and the tables of words of the task.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import category

from tongues.errors import nearest

__all__ = ["InvalidRow", "Words", "check_template", "fill_all"]

Words = Mapping[str, Mapping[str, str]]  # tables by name: what stands for what

_PARTS = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class InvalidRow(Exception):
    """A row that is not an item: the reason, in words that can be counted, and the sample."""

    def __init__(self, reason: str, about: str) -> None:
        super().__init__(reason)
        self.reason, self.about = reason, about


def _open(text: str) -> str:
    text = text.strip()
    return text[:-1] if text and category(text[-1]).startswith("P") else text


_FILTERS: dict[str, Callable[[str], str]] = {
    "strip": str.strip,
    "capitalize": str.capitalize,
    "uncapitalize": lambda text: text[:1].lower() + text[1:],
    "open": _open,
}
_SPLITS = {"before": 0, "after": 2}  # the part of the text before or after a mark


@dataclass(frozen=True, slots=True)
class _Field:
    path: str
    filters: tuple[tuple[str, str], ...]

    def find(self, row: Mapping[str, Any]) -> Any:
        value: Any = row
        for step in [self.path] if self.path in row else self.path.split("."):
            if isinstance(value, Mapping) and step in value:
                value = value[step]
            elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
            else:
                raise InvalidRow("field missing", f"`{self.path}`")
        return value

    def text(self, value: Any, words: Words, blank: bool) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise InvalidRow("field is not text", f"`{self.path}`")
        for name, mark in self.filters:
            if name in words:
                if value not in words[name]:
                    raise InvalidRow("word unknown", f"`{self.path}`: `{value}`")
                value = words[name][value]
            elif name in _SPLITS:
                if mark not in value:
                    raise InvalidRow("mark missing", f"`{self.path}` has no `{mark}`")
                value = value.partition(mark)[_SPLITS[name]]
                blank = True  # the text before or after a mark may be empty
            else:
                value = _FILTERS[name](value)
        if not (blank or value.strip()):
            raise InvalidRow("empty choice", f"`{self.path}`")
        return value


def check_template(template: str, words: Words) -> None:
    """Raise a ValueError, with what would be right, for a template that cannot be filled."""
    for field in (part for part in _parts(template) if not isinstance(part, str)):
        if not field.path:
            raise ValueError(f"`{template}` has a field without a name")
        for name, mark in field.filters:
            if name in _SPLITS and not mark:
                raise ValueError(f"`{name}` in `{template}` needs a mark, as in `{name} _`")
            if name not in (*_SPLITS, *_FILTERS, *words):
                known = nearest(name, (*_FILTERS, *_SPLITS, *words))
                raise ValueError(f"`{name}` in `{template}` is not a filter or table; {known}")


def fill_all(
    templates: str | Sequence[str], row: Mapping[str, Any], words: Words, *, blank: bool
) -> list[str]:
    """Templates filled with a row's fields; of one alone, whose only field is a list, its elements.

    InvalidRow where a field is missing, not text, or blank. blank: whether fields may be.
    """
    if isinstance(templates, str):
        match list(_parts(templates)):
            case [_Field() as field] if isinstance(values := field.find(row), list):
                return [field.text(value, words, blank) for value in values]
        templates = [templates]
    return [
        "".join(
            part if isinstance(part, str) else part.text(part.find(row), words, blank)
            for part in _parts(template)
        )
        for template in templates
    ]


def _parts(template: str) -> Iterator[str | _Field]:
    place = 0
    for match in _PARTS.finditer(template):
        if match.start() > place:
            yield template[place : match.start()]
        place = match.end()
        if match[0] in ("{{", "}}"):
            yield match[0][0]
        elif match[0] in ("{", "}"):
            raise ValueError(f"`{template}` has a brace without its other half")
        else:
            path, *filters = match[1].split("|")
            named = (each.strip().partition(" ") for each in filters)
            yield _Field(path.strip(), tuple((name, mark.strip()) for name, _, mark in named))
    if place < len(template):
        yield template[place:]
