"""Every command of the docs is run as printed, and answers what the docs say."""

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import run_command, start_command
from tongues.models import SHAPES
from tongues.recipe import load_recipe

DOCS = Path(__file__).parents[1] / "docs"
GUIDES = DOCS / "how-to"
PAGES = (
    "languages",
    "check",
    "prepare",
    "train",
    "study",
    "ls",
    "fit",
    "plan",
    "report",
    "experts",
)
PAGES += ("evaluate", "export")
BLOCK = re.compile(r"```console( varies)?\n(.*?)```", re.DOTALL)
PROGRESS = re.compile(r"^[\w.-]+(: \d+ (runs|experts))?: \d+%  ")
NUMBER = re.compile(r"-?\d[\d.]*(e[+-]\d+)?")


def commands(page: str) -> Iterator[tuple[str, list[str], bool]]:
    """Each command of a page, what it is said to answer, and whether its numbers vary."""
    for varies, block in BLOCK.findall((GUIDES / f"{page}.md").read_text(encoding="utf-8")):
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *answer = piece.rstrip("\n").split("\n")
            yield command, answer, bool(varies)


def marks(folder: Path) -> set[Path]:
    """The checkpoints that there are."""
    return set(folder.glob("runs/**/checkpoints/step-*"))


def answered(command: str, folder: Path) -> list[str]:
    """What a command prints on both streams, without the live lines of a slow machine."""
    program, *words = shlex.split(command)
    if program == "tongues":
        printed = run_command(words, folder, joined=True).stdout
    elif program == "timeout":  # a kill, as soon as there is something to resume from
        words = words[words.index("tongues") + 1 :]
        before, started = marks(folder), start_command(words, folder, joined=True)
        while started.process.is_alive() and marks(folder) == before:
            time.sleep(0.01)
        started.process.kill()
        printed = started.wait().stdout
    else:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        printed = subprocess.run(
            [program, *words],
            cwd=folder,
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        ).stdout
    return [line.rstrip() for line in printed.splitlines() if not PROGRESS.match(line)]


def without_numbers(lines: list[str]) -> str:
    return " ".join(NUMBER.sub("#", " ".join(lines)).split())


def test_the_pages_print_what_the_commands_answer(tmp_path: Path) -> None:
    shutil.copytree(DOCS / "examples", tmp_path, dirs_exist_ok=True)
    for page in PAGES:
        for command, expected, varies in commands(page):
            lines = answered(command, tmp_path)
            if varies:  # numbers, and with them cautions, differ between processors
                assert without_numbers(lines[:1]) == without_numbers(expected[:1]), command
                assert lines[-1] == expected[-1], command
            else:
                assert lines == expected, command
    laws = json.loads((tmp_path / "laws.json").read_text())["laws"]
    assert {law["strategy"] for law in laws} == {"scratch", "cpt"}
    assert all(law["warnings"] and law["draws"] for law in laws)
    page = (tmp_path / "reports/study/index.html").read_text()
    assert page.startswith("<!doctype html>")
    assert len(list((tmp_path / "reports/study/figures").glob("*.svg"))) >= 4


def test_the_examples_of_the_library_give_what_the_page_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(DOCS / "examples")
    failed, tried = doctest.testfile(str(GUIDES / "laws.md"), module_relative=False)
    assert tried > 30 and not failed


def test_the_readme_names_commands_and_files_that_exist() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", readme):
        assert (DOCS.parent / link).exists(), link
    in_pages = {command for page in PAGES for command, _, _ in commands(page)}
    tour = re.findall(r"^\$ (tongues .*?)(?:  +#.*)?$", readme, re.MULTILINE)
    assert tour
    shown = {line for page in PAGES for _, answer, _ in commands(page) for line in answer}
    told = re.findall(r"^(?:   option|→  |advice:|how sure:).*$", readme, re.MULTILINE)
    assert told
    assert set(told) <= shown
    assert {command.strip() for command in tour} <= in_pages | {c.split(" -o")[0] for c in in_pages}


@pytest.mark.parametrize("path", sorted((DOCS / "examples").glob("*.yaml")), ids=lambda p: p.name)
def test_every_example_is_a_recipe(path: Path) -> None:
    recipe = load_recipe(path)
    if recipe.experts or (recipe.train.base and not recipe.model.shape):
        return  # the base has the shape
    shapes = recipe.study.shapes if recipe.study else [recipe.model.shape]
    assert all(shape in SHAPES for shape in shapes)


def test_the_recipe_of_the_tutorial_is_an_example() -> None:
    example = (DOCS / "examples/smollm2.yaml").read_text(encoding="utf-8")
    lines = [line for line in example.splitlines() if not line.startswith("#")]
    page = (DOCS / "tutorials/base.md").read_text(encoding="utf-8")
    assert "```yaml\n" + "\n".join(lines) + "\n```" in page


@pytest.mark.parametrize(
    "path", [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda p: p.name
)
def test_nothing_is_left_to_be_filled_in(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.findall(r"^\W*[A-Z_]{6,}$", text, re.MULTILINE)
    for image in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text):
        assert (path.parent / image).is_file()
