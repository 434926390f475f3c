"""What is gone is answered in one line that says what to use instead."""

import re

import click
import pytest

from tongues.cli.main import command, main
from tongues.errors import UserError
from tongues.recipe import load_text_recipe
from tongues.removed import KEYS, OPTIONS, instead_of_key

RECIPE = {
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
        load_text_recipe(RECIPE, "tokens.guess=1")
    assert str(error.value) == "override tokens.guess: `guess` is gone: leave it out"


def test_a_path_is_found_whatever_its_place_in_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEYS, "experts.partitions.guess", "leave it out")
    monkeypatch.setitem(KEYS, "text.*.guess", "use the default")
    assert instead_of_key(["experts", "partitions", "0", "guess"]) == "leave it out"
    assert instead_of_key(["text", "sw", "guess"]) == "use the default"
    assert not instead_of_key(["text", "sw", "more", "guess"])


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
