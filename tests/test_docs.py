"""What the docs say holds; `test_docs_commands.py` replays the commands that train."""

import csv
import doctest
import gzip
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForCausalLM

import tongues
from benchmarks import results
from tests.command import run_command
from tests.engines.handed import Handed
from tests.imports.test_hugging_face import trained_elsewhere
from tests.printed import DOCS, GUIDES, PAGES, commands, replay
from tongues.laws import read_laws_file
from tongues.models import SHAPES
from tongues.recipe import load_recipe
from tongues.text.tokens import load_tokenizer, open_tokens
from tongues.train.transplant import held_out_texts


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


def test_each_part_works_alone_as_its_page_says(
    handed: Handed, tokens: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With synthetic languages, and a job of Trainer that is stopped at half."""
    monkeypatch.chdir(tmp_path)
    base, small = handed.over(None), open_tokens(tokens)
    Path("base").symlink_to(base)
    for lang in small.languages:
        texts = held_out_texts(small, load_tokenizer(tokens), lang)
        rows = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        place = tmp_path / "text" / lang / "part.jsonl.gz"
        place.parent.mkdir(parents=True)
        place.write_bytes(gzip.compress(rows.encode()))
    model, shares = AutoModelForCausalLM.from_pretrained(base), {"qab": 0.8, "qaa": 0.2}
    whole = trained_elsewhere(model, small, tmp_path / "out", shares, 60)
    (whole / "checkpoint-60").rename("tuned")
    rows = ["Name,model/num_parameters,train/num_input_tokens_seen,eval/loss,_runtime"]
    rows += [f"{n}-{d},{n}e6,{d}e8,{1 + n**-0.3 + d**-0.3},1" for n in (1, 2, 4) for d in (1, 4)]
    Path("runs.csv").write_text("\n".join(rows))
    page = (GUIDES / "parts.md").read_text(encoding="utf-8")
    names = dict[str, Any]()
    for part in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(in_ours(part), names)
    Path("qab.yaml").write_text(json.dumps(names["recipe"]))
    known, extended = (load_tokenizer(Path(place)) for place in ("base", "tokens/qab"))
    assert known.get_vocab().items() < extended.get_vocab().items()
    assert 0 < names["plan"].decision.option.replay < 1
    ((run,), _) = tongues.ls()
    assert (run.state, run.step, run.steps) == ("running", 30, 60) and run.forecast
    for command in re.findall(r"`(tongues [^`]+)`", page):
        done = run_command(shlex.split(in_ours(command))[1:], tmp_path)
        assert done.returncode == 0, done.stderr


def in_ours(line: str) -> str:
    """With synthetic languages, where nothing of the catalogue is asked for."""
    if "plan" in line:
        return line
    return re.sub(r"\b(sw|en)\b", lambda tag: {"sw": "qab", "en": "qaa"}[tag[0]], line)


def test_the_readme_names_commands_and_files_that_exist() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8").replace(" \\\n   ", "")
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


def test_the_picture_of_the_case_has_the_numbers_of_its_results() -> None:
    drawn = (DOCS / "images/case.svg").read_text(encoding="utf-8")
    points = set(re.findall(r"held out: ([\d.]+); series: ([^\"]+)\"", drawn))
    results = DOCS.parent / "benchmarks/gpu/results/2026-11-28-h200-case.csv"
    rows = list(csv.DictReader(results.open(encoding="utf-8")))
    names = {"10": "10 % replay", "0": "no replay", "scratch": "scratch"}
    expected = {
        (row["bits_per_byte"].rstrip("0"), names[row["run"].rsplit("-", 1)[1]])
        for row in rows
        if row["run"] != "large-own-10"  # its tokens are others
        if row["step"] != "0" and row["language"] in ("ar", "en-US")
    }
    lost = {pair for pair in expected if pair[1] == "scratch"}  # its English is not drawn
    assert points <= expected and len(points) == 50
    assert expected - points <= lost


def test_results_are_of_the_scripts_beside_them() -> None:
    assert results.stale() == {}


def test_first_screens_are_small_and_shown() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    pictures = list((DOCS / "images/first-screens").iterdir())
    assert len(pictures) == 10 + 2  # a kind each; all dark, and all on a phone
    for picture in pictures:
        assert picture.stat().st_size < 300_000 and f"first-screens/{picture.name})" in pages


def test_first_screens_have_the_numbers_of_their_results() -> None:
    shown = json.loads((DOCS / "images/first-screens.json").read_text(encoding="utf-8"))
    results = {
        "what-it-costs": (DOCS / "how-to/plan.md").read_text(encoding="utf-8"),  # replayed
        "gained-and-lost": (DOCS.parent / "benchmarks/real_demo.txt").read_text(encoding="utf-8"),
    }
    for name, result in results.items():
        for tile in shown[name]:
            numbers = re.findall(r"\d+\.\d{2,}", tile)
            assert all(number in result for number in numbers), (name, tile)
