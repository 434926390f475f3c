"""The command `plan`: what it prints, where, and the next commands."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tongues.recipe import load_recipe
from tongues.verbs.main import command

ASKED = shlex.split("--base meta-llama/Llama-3.2-1B --language sw --gpu h100 --budget '2 hours'")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(command, ["plan", *map(str, words)])


def test_the_decision_comes_first_and_the_next_command_last() -> None:
    done = run(*ASKED)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Continue Llama-3.2-1B on Swahili: ") and len(lines) <= 20
    assert done.stderr.splitlines()[-1].startswith("→ tongues plan ")
    assert "rule: " not in done.stdout and "rule: " in run(*ASKED, "--why").stdout


def test_the_last_line_writes_a_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    last = run(*ASKED).stderr.splitlines()[-1].removeprefix("→ tongues ")
    done = CliRunner().invoke(command, shlex.split(last))
    assert done.exit_code == 0, done.exception
    assert load_recipe(tmp_path / "recipe.yaml").train.base_model == ASKED[1]
    assert done.stderr.splitlines()[-1] == "→ tongues check recipe.yaml --gpu h100 --gpus 1"


def test_json_goes_to_standard_output_alone() -> None:
    told = json.loads(run(*ASKED, "--json").stdout)
    assert told["decision"]["code"] == "continue" and told["unit"] == "bits per byte"


def test_a_page_is_written(tmp_path: Path) -> None:
    done = run(*ASKED, "--base", "Qwen/Qwen3-1.7B-Base", "-o", tmp_path / "page")
    assert done.exit_code == 0
    assert "Llama-3.2-1B" in (tmp_path / "page/index.html").read_text()


def test_a_mistake_ends_with_its_place_and_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tongues", "plan", "--budget", "3 hours"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "--gpu" in done.stderr and "Traceback" not in done.stderr
