"""Selecting rows by an expression, such as `tokens > 1e9 and lang == 'de'`.

The expression is parsed as Python, but never executed. It may compare columns with numbers, texts
and other columns.
"""

import ast
import keyword
import math
import operator
import re
import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tongues.errors import UserError, nearest
from tongues.tables.files import Cell, RunTable, cell_amount

__all__ = ["comparable", "select_rows", "where_flag"]

_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_SHOWN = 8
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(`[^`]+`)")
_EXAMPLE = "write it like \"tokens > 1e9 and lang == 'de'\""


def comparable(column: str) -> str:
    """A column's name as an expression needs it."""
    return column if column.isidentifier() and not keyword.iskeyword(column) else f"`{column}`"


def where_flag(expression: str) -> str:
    """The option that selects rows by `expression`, quoted for a shell."""
    safe = not set('"`$\\') & set(expression)
    return f'--where "{expression}"' if safe else f"--where {shlex.quote(expression)}"


def select_rows(table: RunTable, expression: str) -> RunTable:
    """The rows for which `expression` is true.

    Comparisons (`== != < <= > >=`, chained too), `in [...]`, `not in [...]`, `and`, `or`, `not`
    and parentheses over numbers (`1e9`), quoted texts and columns. A name with other characters
    than letters, digits and `_` needs backticks. A comparison with a missing cell is false. Texts
    can be compared by `==`, `!=` and `in` only.
    """
    query = _Query(table, " ".join(expression.splitlines()).strip())
    try:
        tree = query.parse()
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        named = {column.name: column for column in map(query.column, names)}
        rows = query.keep(tree, range(len(table)))
    except (RecursionError, MemoryError):
        what = "the expression is nested too deeply"
        raise _refused(what, "write it with fewer brackets") from None
    if not rows:
        hint = "; ".join(column.extent for column in named.values())
        what = f"none of the {len(table)} rows has {query.text}"
        raise _refused(what, hint, "empty_selection")
    return table.take(rows)


def _refused(what: str, hint: str = _EXAMPLE, code: str = "bad_expression") -> UserError:
    return UserError(what, where="--where", hint=hint, code=code)


@dataclass(frozen=True, slots=True)
class _Query:
    table: RunTable
    text: str

    def parse(self) -> ast.expr:
        plain = _QUOTED.sub(lambda m: "_" * len(m[1].encode()) if m[1] else m[0], self.text)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(plain, mode="eval").body
        except SyntaxError as error:
            at = f"at `{self.text[error.offset - 1 :]}`" if error.offset else "at its end"
            what = f"`{self.text}` cannot be read {at} ({error.msg})"
        except ValueError as error:
            what = f"`{self.text}` cannot be read ({error})"
        raise _refused(what)

    def source(self, node: ast.expr) -> str:
        return self.text.encode()[node.col_offset : node.end_col_offset].decode()

    def refusal(self, node: ast.expr, why: str, hint: str = _EXAMPLE) -> UserError:
        return _refused(f"`{self.source(node)}` {why}", hint)

    def column(self, node: ast.Name) -> "_Column":
        name, columns = self.source(node).strip("`"), self.table.columns
        if name not in columns:
            hint = f"a text needs quotes, '{name}'; of columns, {nearest(name, columns)}"
            raise _refused(f"there is no column `{name}`", hint, "unknown_column")
        return _Column(name, columns[name], [cell_amount(cell) for cell in columns[name]])

    def keep(self, node: ast.expr, rows: Sequence[int]) -> Sequence[int]:
        match node:
            case ast.BoolOp(op=ast.And()):
                for part in node.values:
                    rows = self.keep(part, rows)
                return rows
            case ast.BoolOp():
                rest, kept = rows, set[int]()
                for part in node.values:
                    kept.update(self.keep(part, rest))
                    rest = [row for row in rest if row not in kept]
                return sorted(kept)
            case ast.UnaryOp(op=ast.Not()):
                dropped = set(self.keep(node.operand, rows))
                return [row for row in rows if row not in dropped]
            case ast.Compare():
                left = node.left
                for sign, right in zip(node.ops, node.comparators, strict=True):
                    rows = self.compare(left, sign, right, rows)
                    left = right
                return rows
        raise self.refusal(node, "is not a comparison")

    def compare(
        self, left: ast.expr, sign: ast.cmpop, right: ast.expr, rows: Sequence[int]
    ) -> Sequence[int]:
        if isinstance(sign, ast.In | ast.NotIn):
            if not isinstance(right, ast.List | ast.Tuple):
                raise self.refusal(right, "is not a list", "write it like \"lang in ['de', 'sw']\"")
            side, equal = self.side(left), ast.Eq()
            if isinstance(side, _Column):
                rows = [row for row in rows if side.cells[row] is not None]
            named = {row for item in right.elts for row in self.compare(left, equal, item, rows)}
            return [row for row in rows if (row in named) is isinstance(sign, ast.In)]
        if type(sign) not in _COMPARISONS:
            raise self.refusal(left, "is compared by `is`", "compare with `==`")
        true = _COMPARISONS[type(sign)]
        sides = [self.side(left), self.side(right)]
        columns = [side for side in sides if isinstance(side, _Column)]
        words = [side for side in sides if isinstance(side, str)]
        if not columns:
            raise self.refusal(left, f"and `{self.source(right)}` are not columns")
        as_numbers = not words and (len(columns) == 1 or any(side.numeric for side in columns))
        if not as_numbers:
            if words and columns[0].numeric and cell_amount(words[0]) is None:
                what = f"`{columns[0].name}` holds numbers, and {words[0]!r} is a text"
                raise _refused(what, columns[0].extent, "text_and_number")
            if true not in (operator.eq, operator.ne):
                hint = "texts are compared by ==, != and in; numbers need no quotes"
                raise self.refusal(left, f"and `{self.source(right)}` compare texts by size", hint)
        pairs = zip(rows, *(self.values(side, rows, as_numbers) for side in sides), strict=True)
        return [row for row, a, b in pairs if a is not None and b is not None and true(a, b)]

    def side(self, node: ast.expr) -> "_Column | float | str":
        match node:
            case ast.Name():
                return self.column(node)
            case ast.Constant(value=bool()):
                raise self.refusal(
                    node, "is not a number", f"for a text write '{self.source(node)}'"
                )
            case ast.Constant(value=int() | float() | str() as value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
        raise self.refusal(node, "is neither a column nor a number nor a quoted text")

    def values(
        self, side: "_Column | float | str", rows: Sequence[int], as_numbers: bool
    ) -> Sequence[Any]:
        """One side of a comparison in `rows`, as numbers or as texts; None for a missing cell."""
        if not isinstance(side, _Column):
            return [side if as_numbers else str(side)] * len(rows)
        if not as_numbers:
            return [None if (cell := side.cells[row]) is None else str(cell) for row in rows]
        for row in rows:
            if side.read[row] is None and side.cells[row] is not None:
                text, place = repr(str(side.cells[row])), self.table.places[row]
                what = f"`{side.name}` holds {text} ({place}) and is compared as a number"
                others = f"{comparable(side.name)} != {text} and …"
                hint = f"write texts in quotes, or leave that one out before: {others}"
                raise _refused(what, hint, "text_and_number")
        return [side.read[row] for row in rows]


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    cells: list[Cell]
    read: list[float | None]

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers: `nan` and `inf` alone may be languages."""
        texts = [cell for cell, value in zip(self.cells, self.read, strict=True) if value is None]
        return not any(cell is not None for cell in texts) and bool(self.finite)

    @property
    def finite(self) -> list[float]:
        return [value for value in self.read if value is not None and math.isfinite(value)]

    @property
    def extent(self) -> str:
        present = [cell for cell in self.cells if cell is not None]
        if not present:
            return f"`{self.name}` is missing everywhere"
        if self.numeric:
            return f"`{self.name}` goes from {min(self.finite):.6g} to {max(self.finite):.6g}"
        distinct = list(dict.fromkeys(map(str, present)))
        more = f" and {len(distinct) - _SHOWN} more" if len(distinct) > _SHOWN else ""
        return f"`{self.name}` is {', '.join(map(repr, distinct[:_SHOWN]))}{more}"
