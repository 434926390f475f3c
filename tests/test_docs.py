"""What the docs say holds; `test_docs_commands.py` replays the commands that train."""

import doctest
import re
import shutil
from pathlib import Path

import pytest

import tongues
from tests.printed import DOCS, GUIDES, PAGES, commands, replay
from tongues.laws import read_laws_file
from tongues.models import SHAPES
from tongues.recipe import load_recipe


@pytest.mark.long
def test_the_pages_of_verbs_that_need_no_run_print_what_they_answer(tmp_path: Path) -> None:
    replay("nothing", tmp_path)


@pytest.mark.long
def test_the_examples_of_the_library_give_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shutil.copytree(DOCS / "examples", tmp_path / "examples"))
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
    told = re.findall(
        r"^(?:   option|→  |Continue |tokenizer:|training:|loss:|forgetting:|text: \d).*$",
        readme,
        re.MULTILINE,
    )
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


def test_the_example_law_is_the_one_that_the_page_of_fit_writes() -> None:
    examples = DOCS / "examples"
    fitted = tongues.fit(examples / "runs.csv", law="cpt", draws=0).laws
    for law, kept in zip(fitted, read_laws_file(examples / "law.json"), strict=True):
        assert (kept.form, kept.strategy, kept.n_runs) == (law.form, law.strategy, law.n_runs)
        assert kept.params == pytest.approx(law.params, rel=1e-6) and kept.draws


def test_every_whole_recipe_of_a_page_is_one(tmp_path: Path) -> None:
    whole = 0
    for page in sorted(DOCS.rglob("*.md")):
        for block in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            if block.startswith("name:") and "\ntext:" in block:
                file = tmp_path / f"{page.stem}.yaml"
                file.write_text(block, encoding="utf-8")
                load_recipe(file)
                whole += 1
    assert whole > 2


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


def test_a_link_to_a_page_that_is_generated_says_what_makes_it() -> None:
    """In a checkout such a page is not there."""
    for path in sorted(DOCS.rglob("*.md")):
        for line in path.read_text(encoding="utf-8").splitlines():
            links = re.findall(r"\]\(([\w./-]+\.md)(?:#[\w-]+)?\)", line)
            missing = [link for link in links if not (path.parent / link).exists()]
            assert not missing or "`make docs`" in line, (path.name, missing)


def test_every_torchrun_of_the_docs_gives_time_for_the_last_checkpoint() -> None:
    commands = []
    for page in sorted([DOCS.parent / "README.md", *DOCS.rglob("*.md")]):
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for block in re.findall(r"```\w+\n(.*?)```", text, re.DOTALL):
            commands += re.findall(r"torchrun .*?-m tongues train", block, re.DOTALL)
    assert len(commands) == 4
    assert all(" --shutdown-timeout 3600 " in command for command in commands)
