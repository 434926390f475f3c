"""Selecting rows by conditions, such as `tokens > 1e9 and lang == 'de'`.

Each compares a column with a number, a text or a list of these; all must hold.
"""

import ast
import keyword
import math
import operator
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tongues.core.errors import UserError, nearest
from tongues.runs.tables.files import Cell, RunTable, cell_amount

_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": operator.eq,  # one of the list
    "not in": operator.ne,  # each of the list
}
_BY_TEXT = (operator.eq, operator.ne)
_SHOWN = 8  # values of a column that are named; chosen
_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_VALUE = rf"(?:{_TEXT}|[\w.+-]+)"
_LIST = rf"[\[(]\s*{_VALUE}(?:\s*,\s*{_VALUE})*\s*,?\s*[\])]"
_CONDITION = re.compile(
    rf"\s*(?:`([^`]+)`|([^\W\d]\w*))\s*"  # a column
    rf"(==|!=|<=|>=|<|>|(?:not\s+)?in(?!\w))\s*({_VALUE}|{_LIST})\s*(?:and(?=\W)\s*(?=.)|$)"
)
_EXAMPLE = "write conditions like \"tokens > 1e9 and lang == 'de'\", joined by `and`"

Condition = tuple[str, str, list[float | str]]  # column, sign, what it is compared with


def comparable(column: str) -> str:
    """A column's name as a condition needs it."""
    return column if column.isidentifier() and not keyword.iskeyword(column) else f"`{column}`"


def where_flag(expression: str) -> str:
    """The option that selects rows by `expression`, quoted for a shell."""
    safe = not set('"`$\\') & set(expression)
    return f'--where "{expression}"' if safe else f"--where {shlex.quote(expression)}"


def select_rows(table: RunTable, expression: str) -> RunTable:
    """The rows for which all conditions hold: `COLUMN == != < <= > >= VALUE`, joined by `and`.

    A value is a number (`1e9`) or a quoted text; `in [...]` and `not in [...]` take several. A name
    with other characters than letters, digits and `_` needs backticks. A condition on a missing
    cell does not hold. Texts can be compared by `==`, `!=` and `in` only.
    """
    text = " ".join(expression.splitlines()).strip()
    conditions = list(_conditions(text))
    rows: Sequence[int] = range(len(table))
    for name, sign, values in conditions:
        if name not in table.columns:
            hint = f"a text needs quotes, '{name}'; of columns, {nearest(name, table.columns)}"
            raise _refused(f"there is no column `{name}`", hint, "unknown_column")
        rows = [row for row in rows if table.columns[name][row] is not None]
        matched = [set(_compared(table, name, sign, value, rows)) for value in values]
        chosen = set().union(*matched) if sign == "in" else set(rows).intersection(*matched)
        rows = sorted(chosen)
    if not rows:
        hint = "; ".join(_extent(name, table.columns[name]) for name, *_ in conditions)
        raise _refused(f"none of the {len(table)} rows has {text}", hint, "empty_selection")
    return table.take(rows)


def _refused(what: str, hint: str = _EXAMPLE, code: str = "bad_expression") -> UserError:
    return UserError(what, where="--where", hint=hint, code=code)


def _conditions(text: str) -> Iterator[Condition]:
    place = 0
    while place < len(text) or not text:
        match = _CONDITION.match(text, place)
        if match is None:
            raise _refused(f"`{text}` cannot be read from `{text[place:].strip()}` on")
        quoted, name, words, right = match.groups()
        sign = " ".join(words.split())
        if sign.endswith("in") != (right[0] in "[("):
            hint = f"write \"lang in ['de', 'sw']\"; {_EXAMPLE}"
            raise _refused(f"`{sign}` and `{right}` do not fit together", hint)
        yield quoted or name, sign, [_value_of(found[0]) for found in re.finditer(_VALUE, right)]
        place = match.end()


def _value_of(word: str) -> float | str:
    if word[0] in "'\"":
        return str(ast.literal_eval(word))
    number = cell_amount(word) if word[-1].isalnum() and not word.isalpha() else None
    if number is None:
        hint = f"for a text write '{word}'; {_EXAMPLE}"
        raise _refused(f"`{word}` is neither a number nor a quoted text", hint)
    return number


def _compared(
    table: RunTable, name: str, sign: str, value: float | str, rows: Sequence[int]
) -> Iterator[int]:
    """The rows in which a column compares so with one value, as numbers or as texts."""
    cells, holds = table.columns[name], _SIGNS[sign]
    if isinstance(value, str):
        if _numeric(cells) and cell_amount(value) is None:
            what = f"`{name}` holds numbers, and {value!r} is a text"
            raise _refused(what, _extent(name, cells), "text_and_number")
        if holds not in _BY_TEXT:
            hint = "texts are compared by ==, != and in; numbers need no quotes"
            raise _refused(f"`{name}` and {value!r} are compared by size", hint)
        yield from (row for row in rows if holds(str(cells[row]), value))
        return
    for row in rows:
        number = cell_amount(cells[row])
        if number is None:
            text, place = repr(str(cells[row])), table.places[row]
            what = f"`{name}` holds {text} ({place}) and is compared as a number"
            others = f"{comparable(name)} != {text} and …"
            hint = f"write texts in quotes, or leave that one out before: {others}"
            raise _refused(what, hint, "text_and_number")
        if holds(number, value):
            yield row


def _finite(cells: Sequence[Cell]) -> list[float]:
    numbers = map(cell_amount, cells)
    return [number for number in numbers if number is not None and math.isfinite(number)]


def _numeric(cells: Sequence[Cell]) -> bool:
    """Whether a column holds numbers: `nan` and `inf` alone may be languages."""
    texts = any(cell is not None and cell_amount(cell) is None for cell in cells)
    return not texts and bool(_finite(cells))


def _extent(name: str, cells: Sequence[Cell]) -> str:
    """What a column holds, in a few words."""
    distinct = list(dict.fromkeys(str(cell) for cell in cells if cell is not None))
    if not distinct:
        return f"`{name}` is missing everywhere"
    if _numeric(cells):
        return f"`{name}` goes from {min(_finite(cells)):.6g} to {max(_finite(cells)):.6g}"
    more = f" and {len(distinct) - _SHOWN} more" if len(distinct) > _SHOWN else ""
    return f"`{name}` is {', '.join(map(repr, distinct[:_SHOWN]))}{more}"
