"""The house keeps its shape: imports go downwards, public names are the ones meant."""

import ast
import importlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tongues"

# A room may import only from rooms to its left.
ORDER = (
    "errors",
    "extras",
    "registry",
    "estimate",
    "jsonable",
    "frames",
    "magnitudes",
    "quantities",
    "hardware",
    "cores",
    "files",
    "hub",
    "pages",
    "randomness",
    "roles",
    "recipe",
    "runs",
    "states",
    "tables",
    "laws",
    "languages",
    "significance",
    "ranks",
    "launch",
    "text",
    "tokens",
    "models",
    "train",
    "plan",
    "study",
    "experts",
    "evaluate",
    "export",
    "check",
    "steps",
    "report",
    "serve",
    "terminal",
    "verbs",
    "cli",
    "__main__",
)


# Public names that two modules still give to different things. The list only ever gets shorter.
CLASHES: set[str] = set()


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.add(node.module or "")
    return {name for name in found if name.split(".")[0] == "tongues"}


def test_every_room_has_its_place() -> None:
    rooms = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in modules()}
    assert rooms - {"__init__"} == set(ORDER)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_only_to_earlier_rooms(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own == "__init__":
        return  # its imports are for type checkers alone
    for module in imported(path):
        room = room_of(module)
        if room:
            assert room == own or ORDER.index(room) < ORDER.index(own), f"{own} imports {module}"


@pytest.mark.parametrize(
    "room",
    [
        "laws",
        "languages",
        "significance",
        "tables",
        "plan",
        "check",
        "cli",
        "recipe",
        "models",
        "study",
        "train",
    ],
)
def test_rooms_that_answer_at_once_bring_no_torch(room: str) -> None:
    code = (
        f"import sys, tongues.{room}; "
        "heavy = {'torch', 'transformers', 'altair', 'scipy', 'pyarrow'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def packages() -> list[str]:
    return sorted(
        ".".join(path.parent.relative_to(ROOT).parts) for path in PACKAGE.rglob("__init__.py")
    )


@pytest.mark.parametrize("package", packages())
def test_public_names_exist(package: str) -> None:
    module = importlib.import_module(package)
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_are_short_and_say_what_they_offer(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    assigned = [node for node in ast.parse(text).body if isinstance(node, ast.Assign)]
    names = {name.id for node in assigned for name in node.targets if isinstance(name, ast.Name)}
    assert "__all__" in names or path.name == "__main__.py"


def test_a_public_name_means_one_thing() -> None:
    """No class or function name twice, but for the verbs, whose commands have their names."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    names = Counter(
        node.name
        for path in modules()
        if path.relative_to(PACKAGE).parts[0] not in ("cli", "verbs")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, kinds) and not node.name.startswith("_")
    )
    twice = {name for name, count in names.items() if count > 1}
    assert not twice - CLASHES, "give one of them a better name"
    assert not CLASHES - twice, "these are unique now: take them out of the list"
