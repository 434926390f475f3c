"""Templates: text with `{field|filter|filter}` in it; a literal brace is written twice.

The filters are those below and the tables of words of the task.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import category

from tongues.errors import nearest

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
    "uncapitalize": lambda text: text[:1].lower() + text[1:],
    "open": _open,
}


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    filters: tuple[str, ...]

    def find(self, row: Mapping[str, Any]) -> Any:
        if self.name not in row:
            raise InvalidRow("field missing", f"`{self.name}`")
        return row[self.name]

    def text(self, value: Any, words: Words, blank: bool) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise InvalidRow("field is not text", f"`{self.name}`")
        for name in self.filters:
            if name not in words:
                value = _FILTERS[name](value)
            elif value in words[name]:
                value = words[name][value]
            else:
                raise InvalidRow("word unknown", f"`{self.name}`: `{value}`")
        if not (blank or value.strip()):
            raise InvalidRow("empty choice", f"`{self.name}`")
        return value


def check_template(template: str, words: Words) -> None:
    """Raise a ValueError, with what would be right, for a template that cannot be filled."""
    for field in (part for part in _parts(template) if not isinstance(part, str)):
        if not field.name:
            raise ValueError(f"`{template}` has a field without a name")
        for name in field.filters:
            if name not in (*_FILTERS, *words):
                known = nearest(name, (*_FILTERS, *words))
                raise ValueError(f"`{name}` in `{template}` is not a filter or table; {known}")


def fill_template(template: str, row: Mapping[str, Any], words: Words, *, blank: bool) -> str:
    """A template filled with a row's fields; blank: whether these may be.

    InvalidRow where a field is missing, not text, or blank.
    """
    return "".join(
        part if isinstance(part, str) else part.text(part.find(row), words, blank)
        for part in _parts(template)
    )


def fill_choices(templates: str | Sequence[str], row: Mapping[str, Any], words: Words) -> list[str]:
    """Choices, filled and none of them blank; of one field with a list, its elements."""
    if not isinstance(templates, str):
        return [fill_template(template, row, words, blank=False) for template in templates]
    match list(_parts(templates)):
        case [_Field() as field] if isinstance(values := field.find(row), list):
            return [field.text(value, words, blank=False) for value in values]
    return [fill_template(templates, row, words, blank=False)]


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
            name, *filters = match[1].split("|")
            yield _Field(name.strip(), tuple(map(str.strip, filters)))
    if place < len(template):
        yield template[place:]
