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

__all__ = ["FILTERS", "Unfit", "Words", "check_template", "fill", "fill_all"]

Words = Mapping[str, Mapping[str, str]]  # tables by name: what stands for what

_PARTS = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class Unfit(Exception):
    """A row that is no item: the reason, in words that can be counted, and what it is about."""

    def __init__(self, reason: str, about: str) -> None:
        super().__init__(reason)
        self.reason, self.about = reason, about


def _capitalize(text: str) -> str:
    return text.capitalize()


def _uncapitalize(text: str) -> str:
    return text[:1].lower() + text[1:]


def _open(text: str) -> str:
    """Without the mark that ends a sentence, so that it goes on."""
    text = text.strip()
    return text[:-1] if text and category(text[-1]).startswith("P") else text


FILTERS: dict[str, Callable[[str], str]] = {
    "strip": str.strip,
    "capitalize": _capitalize,
    "uncapitalize": _uncapitalize,
    "open": _open,
}
_SPLITS: dict[str, Callable[[str, str], str]] = {
    "before": lambda text, mark: text.partition(mark)[0],
    "after": lambda text, mark: text.partition(mark)[2],
}


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a template: where it stands in a row, and its filters with their marks."""

    path: str
    filters: tuple[tuple[str, str], ...]

    @property
    def may_be_blank(self) -> bool:
        """Of what stands before or after a mark there may be nothing."""
        return any(name in _SPLITS for name, _ in self.filters)


def check_template(template: str, words: Words) -> None:
    """Raise a ValueError, with what would be right, for a template that cannot be filled."""
    for part in _parts(template):
        if isinstance(part, str):
            continue
        if not part.path:
            raise ValueError(f"`{template}` has a field without a name")
        for name, mark in part.filters:
            if name in _SPLITS and not mark:
                raise ValueError(f"`{name}` in `{template}` needs a mark, as in `{name} _`")
            if name not in _SPLITS and name not in FILTERS and name not in words:
                known = nearest(name, (*FILTERS, *_SPLITS, *words))
                raise ValueError(f"`{name}` in `{template}` is no filter and no table; {known}")


def fill(template: str, row: Mapping[str, Any], words: Words, *, blank: bool) -> str:
    """The template with a row's fields; Unfit where one lacks, is no text, or is blank.

    blank: whether fields may be.
    """
    return "".join(
        part if isinstance(part, str) else _filled(part, _found(row, part.path), words, blank)
        for part in _parts(template)
    )


def fill_all(
    templates: str | Sequence[str], row: Mapping[str, Any], words: Words, *, blank: bool
) -> list[str]:
    """Several templates filled; of one alone, whose only field is a list, its elements."""
    if not isinstance(templates, str):
        return [fill(template, row, words, blank=blank) for template in templates]
    match list(_parts(templates)):
        case [_Field() as field] if isinstance(found := _found(row, field.path), list):
            return [_filled(field, value, words, blank) for value in found]
    return [fill(templates, row, words, blank=blank)]


def _parts(template: str) -> Iterator[str | _Field]:
    """Text and fields in their order."""
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


def _found(row: Mapping[str, Any], path: str) -> Any:
    """What stands in a row where a path leads."""
    found: Any = row
    for step in [path] if path in row else path.split("."):
        if isinstance(found, Mapping) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            raise Unfit("field missing", f"`{path}`")
    return found


def _filled(field: _Field, value: Any, words: Words, blank: bool) -> str:
    """A field's value as text, through its filters."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise Unfit("field is no text", f"`{field.path}`")
    for name, mark in field.filters:
        value = _filtered(value, name, mark, field.path, words)
    if not (blank or field.may_be_blank or value.strip()):
        raise Unfit("empty choice", f"`{field.path}`")
    return value


def _filtered(text: str, name: str, mark: str, path: str, words: Words) -> str:
    if name in words:
        if text not in words[name]:
            raise Unfit("word unknown", f"`{path}`: `{text}`")
        return words[name][text]
    if name in _SPLITS:
        if mark not in text:
            raise Unfit("mark missing", f"`{path}` has no `{mark}`")
        return _SPLITS[name](text, mark)
    return FILTERS[name](text)
