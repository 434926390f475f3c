"""Templates: text with `{field}` in it, and what a field may go through on its way.

`{field|filter|filter}`; a field inside another, or inside a list, is `{choices.text.0}`. A brace
that is meant is written twice. The filters are those below and the tables of words of the task.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import category

from tongues.errors import nearest

__all__ = ["Unfit", "Words", "check_template", "fill_all"]

Words = Mapping[str, Mapping[str, str]]  # tables by name: what stands for what

_PARTS = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class Unfit(Exception):
    """A row that is no item: the reason, in words that can be counted, and what it is about."""

    def __init__(self, reason: str, about: str) -> None:
        super().__init__(reason)
        self.reason, self.about = reason, about


def _open(text: str) -> str:
    """Without the mark that ends a sentence, so that it continues."""
    text = text.strip()
    return text[:-1] if text and category(text[-1]).startswith("P") else text


_FILTERS: dict[str, Callable[[str], str]] = {
    "strip": str.strip,
    "capitalize": str.capitalize,
    "uncapitalize": lambda text: text[:1].lower() + text[1:],
    "open": _open,
}
_SPLITS = {"before": 0, "after": 2}  # which part of the text that a mark divides


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a template: where it stands in a row, and its filters with their marks."""

    path: str
    filters: tuple[tuple[str, str], ...]

    def find(self, row: Mapping[str, Any]) -> Any:
        """What stands in a row where the path leads."""
        value: Any = row
        for step in [self.path] if self.path in row else self.path.split("."):
            if isinstance(value, Mapping) and step in value:
                value = value[step]
            elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
            else:
                raise Unfit("field missing", f"`{self.path}`")
        return value

    def text(self, value: Any, words: Words, blank: bool) -> str:
        """A value as text, through the filters; blank: whether it may be."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise Unfit("field is no text", f"`{self.path}`")
        for name, mark in self.filters:
            if name in words:
                if value not in words[name]:
                    raise Unfit("word unknown", f"`{self.path}`: `{value}`")
                value = words[name][value]
            elif name in _SPLITS:
                if mark not in value:
                    raise Unfit("mark missing", f"`{self.path}` has no `{mark}`")
                value = value.partition(mark)[_SPLITS[name]]
                blank = True  # before or after a mark there may be nothing
            else:
                value = _FILTERS[name](value)
        if not (blank or value.strip()):
            raise Unfit("empty choice", f"`{self.path}`")
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
                raise ValueError(f"`{name}` in `{template}` is no filter and no table; {known}")


def fill_all(
    templates: str | Sequence[str], row: Mapping[str, Any], words: Words, *, blank: bool
) -> list[str]:
    """Templates filled with a row's fields; of one alone, whose only field is a list, its elements.

    Unfit where a field lacks, is no text, or is blank. blank: whether fields may be.
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
            named = (one.strip().partition(" ") for one in filters)
            yield _Field(path.strip(), tuple((name, mark.strip()) for name, _, mark in named))
    if place < len(template):
        yield template[place:]
