"""Sentences are templates that can be read: none is assembled from more than two fragments."""

import ast
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

import tongues
from tests.golden import inputs

PACKAGE = Path(tongues.__file__).parent
LINES, ARGUMENTS = 80, 12  # of a function, at most


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every file of the package by its path in it."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield str(path.relative_to(PACKAGE)), ast.parse(path.read_text(encoding="utf-8"))


def has_words(node: ast.expr) -> bool:
    """Whether it is a string with a space and some letters."""
    if isinstance(node, ast.JoinedStr):
        return any(map(has_words, node.values))
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and " " in text and sum(map(str.isalpha, text)) > 2


def is_clause(node: ast.expr) -> bool:
    """Words under a condition, such as `" of it" if some else ""`."""
    return isinstance(node, ast.IfExp) and (has_words(node.body) or has_words(node.orelse))


def added(node: ast.expr) -> list[ast.expr]:
    """What a chain of `+` adds up."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*added(node.left), *added(node.right)]
    return [node]


def is_assembled(node: ast.AST) -> bool:
    """Words added on, added up from three parts, multiplied, or with two clauses in them."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return any(has_words(part) or is_clause(part) for part in added(node.value))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return has_words(node.left) or has_words(node.right)
    if isinstance(node, ast.BinOp):
        parts = added(node)
        return len(parts) > 2 and any(map(has_words, parts))
    if isinstance(node, ast.JoinedStr):
        inside = (part.value for part in node.values if isinstance(part, ast.FormattedValue))
        return sum(map(is_clause, inside)) > 1
    return False


def test_no_sentence_is_assembled_from_more_than_two_fragments() -> None:
    found = [
        f"{file}:{getattr(node, 'lineno', 0)}"
        for file, tree in modules()
        for node in ast.walk(tree)
        if is_assembled(node)
    ]
    assert not found


@pytest.mark.parametrize(("code", "assembled"), inputs("rows")["test_what_is_assembled_is_found"])
def test_what_is_assembled_is_found(code: str, assembled: bool) -> None:
    assert any(map(is_assembled, ast.walk(ast.parse(code)))) == assembled


def test_no_function_is_long_or_takes_many_arguments() -> None:
    found: list[str] = []
    for node in chain.from_iterable(ast.walk(tree) for _, tree in modules()):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        given = node.args
        count = len(given.args) + len(given.kwonlyargs) + len(given.posonlyargs)
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > LINES or count > ARGUMENTS:
            found.append(f"{node.name}: {lines} lines, {count} arguments")
    assert not found
