"""Frozen dataclasses as JSON and back: one form for every typed result."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """A dataclass, and all that is in it, as dicts, lists, strings and numbers."""
    if hasattr(value, "to_json"):
        return to_plain(value.to_json())
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[T], plain: Any) -> T:
    """The object of a type that `to_plain` gave; a TypeError or the like if it is another's.

    Sequences become tuples. Fields that are missing take their defaults.
    """
    if is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{name: _decode(hints[name], item) for name, item in plain.items()})
    return _decode(kind, plain)


def _decode(kind: Any, plain: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        if plain is None and NoneType in arguments:
            return None
        return _decode(next(one for one in arguments if one is not NoneType), plain)
    if hasattr(kind, "from_json"):
        return kind.from_json(plain)
    if is_dataclass(kind):
        return from_plain(kind, plain)  # pyright: ignore[reportArgumentType]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _decode(arguments[1], item) for key, item in plain.items()}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return tuple(_decode(arguments[0], item) for item in plain)
    return plain


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
