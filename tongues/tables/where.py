"""Selecting rows by conditions, such as `tokens > 1e9 and lang == 'de'`.

The conditions are parsed as Python, but never executed. Each compares a column with a number, a
text or a list of these; all must hold.
"""

import ast
import keyword
import math
import operator
import re
import shlex
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tongues.errors import UserError, nearest
from tongues.tables.files import Cell, RunTable, cell_amount

_SIGNS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: operator.eq,  # one of the list
    ast.NotIn: operator.ne,  # each of the list
}
_BY_TEXT = (operator.eq, operator.ne)
_SHOWN = 8
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(`[^`]+`)")
_EXAMPLE = "write conditions like \"tokens > 1e9 and lang == 'de'\", joined by `and`"

Condition = tuple[str, ast.cmpop, list[float | str]]  # column, sign, what it is compared with


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
    try:
        conditions = list(_conditions(text))
    except (RecursionError, MemoryError):
        raise _refused("the condition is nested too deeply") from None
    rows: Sequence[int] = range(len(table))
    for name, sign, values in conditions:
        if name not in table.columns:
            hint = f"a text needs quotes, '{name}'; of columns, {nearest(name, table.columns)}"
            raise _refused(f"there is no column `{name}`", hint, "unknown_column")
        matched = [set(_compared(table, name, sign, value, rows)) for value in values]
        every = set(rows).intersection(*matched)
        any_of = set().union(*matched)
        chosen = any_of if isinstance(sign, ast.In) else every
        rows = [row for row in rows if row in chosen and table.columns[name][row] is not None]
    if not rows:
        hint = "; ".join(_extent(name, table.columns[name]) for name, *_ in conditions)
        raise _refused(f"none of the {len(table)} rows has {text}", hint, "empty_selection")
    return table.take(rows)


def _refused(what: str, hint: str = _EXAMPLE, code: str = "bad_expression") -> UserError:
    return UserError(what, where="--where", hint=hint, code=code)


def _conditions(text: str) -> Iterator[Condition]:
    plain = _QUOTED.sub(lambda m: "_" * len(m[1].encode()) if m[1] else m[0], text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(plain, mode="eval").body
    except SyntaxError as error:
        at = f"at `{text[error.offset - 1 :]}`" if error.offset else "at its end"
        raise _refused(f"`{text}` cannot be read {at} ({error.msg})") from None
    except ValueError as error:
        raise _refused(f"`{text}` cannot be read ({error})") from None

    def source(node: ast.expr) -> str:
        return text.encode()[node.col_offset : node.end_col_offset].decode()

    def value_of(node: ast.expr) -> float | str:
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError):
            value = None
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return value
        hint = f"for a text write '{source(node)}'; {_EXAMPLE}"
        raise _refused(f"`{source(node)}` is neither a number nor a quoted text", hint)

    parts = [tree]
    while parts:
        node = parts.pop(0)
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            parts = [*node.values, *parts]
            continue
        if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Name):
            raise _refused(f"`{source(node)}` does not compare a column with a value")
        (sign, *more), right = node.ops, node.comparators[0]
        if more or type(sign) not in _SIGNS:
            raise _refused(f"`{source(node)}` is not one comparison")
        several = isinstance(sign, ast.In | ast.NotIn)
        if several and not isinstance(right, ast.List | ast.Tuple):
            raise _refused(f"`{source(right)}` is not a list", "write \"lang in ['de', 'sw']\"")
        items = right.elts if isinstance(right, ast.List | ast.Tuple) and several else [right]
        yield source(node.left).strip("`"), sign, [value_of(item) for item in items]


def _compared(
    table: RunTable, name: str, sign: ast.cmpop, value: float | str, rows: Sequence[int]
) -> Iterator[int]:
    """The rows in which a column compares so with one value, as numbers or as texts."""
    cells, holds = table.columns[name], _SIGNS[type(sign)]
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
        if number is None and cells[row] is not None:
            text, place = repr(str(cells[row])), table.places[row]
            what = f"`{name}` holds {text} ({place}) and is compared as a number"
            others = f"{comparable(name)} != {text} and …"
            hint = f"write texts in quotes, or leave that one out before: {others}"
            raise _refused(what, hint, "text_and_number")
        if number is not None and holds(number, value):
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
