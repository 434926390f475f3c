"""The house keeps its shape: imports go downwards, public names are the ones meant."""

import ast
import importlib
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.golden import inputs

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tongues"

HOUSE: dict[str, Any] = inputs("house")
ORDER: list[str] = HOUSE["order"]


def room_of(module: str) -> str:
    """The place in the order of a module, named without `tongues.`; the longest that fits."""
    fitting = [room for room in ORDER if f"{module}.".startswith(f"{room}.")]
    return max(fitting, key=len, default="")


# Public names that two modules still give to different things. The list only ever gets shorter.
CLASHES: set[str] = set()


@cache
def modules() -> dict[Path, ast.Module]:
    """What each file of the package says."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(modules()[path]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found |= {home_of(node.module or "", alias.name) for alias in node.names}
    return {name for name in found if name.split(".")[0] == "tongues"}


def test_every_module_has_its_place() -> None:
    homeless = {name for name in by_name() if not room_of(name.removeprefix("tongues."))}
    assert homeless == {"tongues", "tongues.core", "tongues.runs", "tongues.use"}


def test_imports_go_only_to_earlier_rooms() -> None:
    wrong = []
    for path in modules():
        own = room_of(module_of(path).removeprefix("tongues."))
        if not own:
            continue  # their imports are for type checkers alone
        rooms = {room_of(module.removeprefix("tongues.")) for module in imported(path)}
        later = {room for room in rooms - {own, ""} if ORDER.index(room) > ORDER.index(own)}
        wrong += [f"{path.relative_to(PACKAGE)} imports {room}" for room in sorted(later)]
    assert not wrong


AT_ONCE = ("recipe", "runs.tables", "laws", "languages", "core.significance", "models", "train")
AT_ONCE += ("plan", "train.study", "plan.check", "verbs.main")


def test_rooms_that_answer_at_once_bring_no_torch() -> None:
    code = (
        "import sys, importlib\n"
        f"for room in {AT_ONCE}:\n"
        "    importlib.import_module(f'tongues.{room}')\n"
        "    heavy = {'torch', 'transformers', 'altair', 'scipy', 'pyarrow'} & set(sys.modules)\n"
        "    assert not heavy, f'{room} brings {heavy}'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


def packages() -> list[str]:
    return sorted(
        ".".join(path.parent.relative_to(ROOT).parts) for path in PACKAGE.rglob("__init__.py")
    )


@pytest.mark.parametrize("package", packages())
def test_public_names_exist(package: str) -> None:
    module = importlib.import_module(package)
    assert all(hasattr(module, name) for name in module.__all__)


PASSES_ON = ("quantities.py",)  # files that give names of others as their own


def test_files_are_short_and_only_packages_list_what_they_offer() -> None:
    """In a file an underscore says what is its own, so a list would say it twice."""
    for path, tree in modules().items():
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path
        assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
        targets = [name for node in assigned for name in node.targets]
        listed = "__all__" in {name.id for name in targets if isinstance(name, ast.Name)}
        assert listed == (path.name in ("__init__.py", *PASSES_ON)), path


def test_only_the_terminal_prints() -> None:
    """Names of files and models may hold sequences that a terminal obeys; it takes them out."""
    for path in PACKAGE.rglob("*.py"):
        if path.name != "terminal.py":
            assert "click.echo" not in path.read_text(encoding="utf-8"), path
            assert "click.secho" not in path.read_text(encoding="utf-8"), path


def test_a_public_name_means_one_thing() -> None:
    """No class or function name twice, but for the verbs, whose commands have their names."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    names = Counter(
        node.name
        for path, tree in modules().items()
        if path.relative_to(PACKAGE).parts[0] != "verbs"
        for node in tree.body
        if isinstance(node, kinds) and not node.name.startswith("_")
    )
    twice = {name for name, count in names.items() if count > 1}
    assert not twice - CLASHES, "give one of them a better name"
    assert not CLASHES - twice, "these are unique now: take them out of the list"


BUDGETS: dict[str, int] = HOUSE["budgets"]  # of lines
AROUND: dict[str, int] = HOUSE["around"]
WORDS = 40_500  # of README and docs
SLACK = 0.05  # beyond which a budget is lowered


def lines_of(path: Path) -> int:
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def test_the_top_of_the_tree_is_seen_at_once() -> None:
    assert {path.name for path in PACKAGE.iterdir() if path.is_dir()} - {"__pycache__"} == {
        *BUDGETS
    }
    assert len(BUDGETS) <= 14


@pytest.mark.parametrize("entry", BUDGETS)
def test_an_entry_keeps_to_its_budget_of_lines(entry: str) -> None:
    lines = lines_of(PACKAGE / entry)
    assert lines <= BUDGETS[entry], "say what leaves, instead of a higher budget"
    assert BUDGETS[entry] - lines <= max(20, SLACK * lines), f"lower the budget to {lines}"


@pytest.mark.parametrize("tree", AROUND)
def test_each_tree_keeps_to_its_budget_of_lines(tree: str) -> None:
    assert lines_of(ROOT / tree) <= AROUND[tree]


def test_the_docs_keep_to_their_budget_of_words() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= WORDS


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def by_name() -> dict[str, ast.Module]:
    return {module_of(path): tree for path, tree in modules().items()}


@cache
def home_of(module: str, name: str) -> str:
    """The file that defines a name, where a package passes it on."""
    if f"{module}.{name}" in by_name():
        return f"{module}.{name}"
    for node in by_name()[module].body if module in by_name() else ():
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            return home_of(node.module or "", name)
    return module


def test_no_files_import_each_other() -> None:
    arrows: dict[str, set[str]] = {}
    for path, tree in modules().items():
        if path == PACKAGE / "__init__.py":
            continue  # its imports are for type checkers alone
        found = arrows.setdefault(module_of(path), set())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tongues"):
                found |= {home_of(node.module or "", alias.name) for alias in node.names}
        found.discard(module_of(path))

    def reached(start: str) -> set[str]:
        seen, left = set[str](), [start]
        while left:
            new = arrows.get(left.pop(), set()) - seen
            seen |= new
            left += new
        return seen

    below = {module: reached(module) for module in arrows}
    circles = {
        frozenset(other for other in below[module] if module in below.get(other, ()))
        for module in arrows
        if module in below[module]
    }
    assert not circles
