"""What needs no model to be refused is refused at once: nothing slow is imported for it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.conftest import RECIPE
from tests.golden import cases, golden, inputs
from tongues.core.errors import UserError
from tongues.core.removed import KEYS, OPTIONS, instead_of_key
from tongues.experts.ensemble.lineage import Expert, Lineage, write_lineage
from tongues.recipe import load_text_recipe
from tongues.verbs.main import command, main

CODE: str = inputs("programs")["CODE"]


def test_a_refusal_is_told_in_words_and_imports_nothing_slow(project: Path, tmp_path: Path) -> None:
    (tmp_path / "made").symlink_to(project)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "wrong.yaml").write_text(RECIPE.replace("budget", "budgett"))
    (tmp_path / "large.yaml").write_text(RECIPE.replace("0.1M", "5534M"))
    (tmp_path / "without.yaml").write_text(RECIPE.replace("vocab_size: 400", "base: nowhere"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "ensembles/experts").mkdir(parents=True)
    a, b = (Expert(name, f"runs/{name}", {}, {}, None, None, 0) for name in "ab")
    lineage = Lineage((a, b), {"de": "a", "fr": "b"}, "base", "", None, {})
    write_lineage(lineage, tmp_path / "ensembles/experts")
    (tmp_path / "folder" / "config.json").write_text('{"model_type": "llama"}')
    words = [sys.executable, "-c", CODE, json.dumps(cases("refused-commands"))]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False, text=True)
    assert not done.returncode, done.stderr
    for line, (code, printed, told, slow) in json.loads(done.stdout).items():
        told = re.sub(r"\d[\d.]* GB", "… GB", told.replace(str(tmp_path), "FOLDER"))
        golden(f"refused-commands/{line}", told)
        assert (code, printed) == (2, ""), line
        assert not slow, f"{line} imports {slow}"


WHOLE = {
    "name": "small",
    "text": {"synthetic": {"seed": 1, "size": "300 kB", "languages": {"qaa": {}}}},
    "tokens": {"vocab_size": 400},
}


def test_a_removed_option_is_answered_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(OPTIONS, "fit --guess", "use `--column`")
    monkeypatch.setattr("sys.argv", ["tongues", "fit", "runs.csv", "--guess", "1"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.endswith("tongues fit: `--guess` is gone: use `--column`\n")
    assert said.count("\n") == 1


def test_a_removed_key_is_answered_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEYS, "tokens.guess", "leave it out")
    with pytest.raises(UserError) as error:
        load_text_recipe(WHOLE, "tokens.guess=1")
    assert str(error.value) == "override tokens.guess: `guess` is gone: leave it out"


def test_a_path_is_found_whatever_its_place_in_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEYS, "experts.partitions.guess", "leave it out")
    assert instead_of_key(["experts", "partitions", "0", "guess"]) == "leave it out"
    assert not instead_of_key(["experts", "guess"])


def test_nothing_is_gone_that_is_there() -> None:
    for option in OPTIONS:
        *verbs, name = option.split()
        group: click.Command = command
        for verb in verbs:
            assert isinstance(group, click.Group), option
            group = group.commands[verb]
        assert name not in {word for shown in group.params for word in shown.opts}, option


def test_what_to_use_instead_is_one_short_sentence() -> None:
    for instead in (*OPTIONS.values(), *KEYS.values()):
        assert len(instead.split()) <= 20, instead
        assert not re.search(r"\n|\.$|^[A-Z](?![A-Z])", instead), instead
