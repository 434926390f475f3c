import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.golden import golden
from tongues.check import check_recipe
from tongues.cli.laws import plan
from tongues.cli.main import command
from tongues.cli.recipes import check
from tongues.errors import UserError
from tongues.recipe import load_recipe


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(plan, [str(word) for word in words])


def test_a_table_an_advice_and_what_to_doubt() -> None:
    done = run("--law", "zheng2024-scratch", "--flops", "1e21", "--gpu", "h100")
    assert done.exit_code == 0
    golden("plan/a command's output", done.stdout)
    golden("plan/a command's caveats and next step", done.stderr)
    undecided = run("--flops", "1e20")  # no recipe of it is offered
    golden("plan/a command that is not decided", undecided.stdout + undecided.stderr)


def test_the_last_line_is_a_command_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ("--base", "SmolLM2-135M", "--language", "sw", "--gpu", "h100", "--hours", "2")
    open_ = [asked[2:], asked]
    decided = [("--law", "zheng2024-cpt", *asked), ("--law", "zheng2024-scratch", *asked[2:])]
    for number, words in enumerate([*open_, *decided]):
        last = run(*words).stderr.splitlines()[-1].removeprefix("→ tongues ")
        verb = "new" if words in open_ else "plan"
        assert last.split()[0] == verb
        shown = shlex.split(last.replace("recipe.yaml", f"{number}.yaml"))
        done = CliRunner().invoke(command, shown)
        assert done.exit_code == 0, (last, done.exception)
    assert {path.name for path in tmp_path.glob("*.yaml")} == {"sw.yaml", "2.yaml", "3.yaml"}
    assert list(load_recipe(tmp_path / "2.yaml").text.hub) == ["sw", "en"]


def test_what_is_known_is_passed_on_where_a_base_is_to_be_chosen() -> None:
    asked = ("--language", "Yoruba", "--gpu", "h100", "--hours", "24", "--base", "mine=8B@1T")
    last = run(*asked).stderr.splitlines()[-1]
    assert last == "→ tongues new --language yo"
    listed = CliRunner().invoke(command, shlex.split(last.removeprefix("→ tongues ")))
    assert "new SmolLM2-135M --language yo -o " in listed.stderr


def test_a_language_without_any_text_is_cautioned_first() -> None:
    done = run("--language", "sux", "--flops", "1e20")
    first = next(line for line in done.stderr.splitlines() if line.startswith("caveat: "))
    assert "no text in `sux`" in first and first.endswith("(no_text)")
    for amount in (("--available-tokens", "10M"), ("--available-text", "30MB")):
        assert "no_text" not in run("--language", "sux", "--flops", "1e17", *amount).stderr


def test_json_alone_on_standard_output() -> None:
    done = run("--law", "hoffmann2022", "--target-loss", "2.4", "--json")
    assert json.loads(done.stdout)["budget"]["target_loss"] == 2.4


def test_the_advice_as_a_recipe(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    done = run("--law", "hoffmann2022", "--flops", "1e15", "--write", path)
    assert done.exit_code == 0 and f"→ tongues check {path}" in done.stderr
    assert check_recipe(load_recipe(path), tmp_path).runs
    wrong = run("--law", "hoffmann2022", "--flops", "1e15", "--for", "one.yaml")
    assert isinstance(wrong.exception, UserError) and "--write" in str(wrong.exception)


def test_a_recipe_for_gpus_is_checked_for_them(tmp_path: Path) -> None:
    path = tmp_path / "next.yaml"
    words = ("--law", "hoffmann2022-full", "--gpus", "8", "--gpu", "a100", "--hours", "48")
    done = run(*words, "--write", path)
    assert f"→ tongues check {path} --gpu a100 --gpus 8" in done.stderr
    machine = ("--gpu", "a100", "--gpus", "8", "--workspace", str(tmp_path))
    checked = CliRunner().invoke(check, [str(path), *machine])
    assert checked.exit_code == 0 and "of 80 GB on each GPU of 8 a100" in checked.stdout
    alone = CliRunner().invoke(check, [str(path), "--gpus", "8"])
    assert isinstance(alone.exception, UserError) and "without `--gpu`" in str(alone.exception)


def test_a_language_that_no_law_knows_is_refused() -> None:
    done = run("--law", "hoffmann2022", "--flops", "1e20", "--target", "no")
    assert isinstance(done.exception, UserError) and done.exception.code == "target_unused"


def test_a_plan_brings_no_torch() -> None:
    code = (
        "import sys, tongues.plan; from tongues.plan import *; "
        "make_plan(read_laws(['hoffmann2022']), ask(flops='1e20')); "
        "heavy = {'torch', 'transformers', 'altair', 'scipy'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
