"""The verb evaluate, as it is called."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.evaluate.conftest import WORDS, write_asked
from tests.golden import cases, golden
from tongues.core.errors import UserError
from tongues.verbs.main import command

MODELS = ("models/e0", "small/small@tfidf:2")

Ask = Callable[..., Result]


@pytest.fixture(scope="module")
def place(house: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the house's models, a folder of texts, and a task's items."""
    folder = tmp_path_factory.mktemp("asked")
    for name in ("models", "ensembles"):
        (folder / name).symlink_to(house / name)
    texts = [f"the {one} of a {other} is an art" for one in WORDS for other in WORDS[:2]]
    items = [
        {"said": f"the {one} of{' a' * 100 * (one == 'art')}", "one": "a mal", "label": 0}
        | {"other": other}
        for one in WORDS
        for other in ("the end", "an art")
    ]
    write_asked(folder, texts, items, "qaa", "qab")
    (folder / "empty").mkdir()
    return folder


@pytest.fixture
def ask(place: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.chdir(place)
    return lambda *words: CliRunner().invoke(command, ["evaluate", *words])


def test_models_are_put_side_by_side_on_texts_and_tasks(ask: Ask, place: Path) -> None:
    on = ("--text", "texts", "--tasks", "parts", "--data", "items", "--name", "both")
    said = [*MODELS, *on]
    done = ask(*said, "--compare")
    assert done.exit_code == 0, done.output
    parts = done.stdout.split("\n\n")
    assert parts[0].startswith("Losses on texts. In bits per byte")
    assert [line.split()[0] for line in parts[1].splitlines()[1:3]] == ["qaa", "qab"]
    assert "no demonstrations" in parts[4]
    rows = [line.split()[0] for line in parts[5].splitlines()[1:]]
    assert rows[:3] == ["qaa", "qab", "mean"]
    assert f"Losses on texts versus the model {MODELS[0]}" in parts[2]
    assert "too long for the model" in done.stdout
    page = Path(done.stdout.splitlines()[-1])
    assert page.is_file()
    before = {one: one.stat().st_mtime_ns for one in place.rglob("units/**/*.json")}
    told = json.loads(ask(*said, "--json").stdout)
    assert {one: one.stat().st_mtime_ns for one in place.rglob("units/**/*.json")} == before
    assert told == json.loads((place / "evaluations/both/scores.json").read_text())
    assert list(told["texts"]["texts"]["losses"]) == list(MODELS)


def test_items_that_do_not_fit_are_left_out_and_counted(ask: Ask, place: Path) -> None:
    done = ask(MODELS[0], "--tasks", "parts:qaa", "--data", "items", "--limit", "16", "--json")
    told = json.loads(done.stdout)
    accuracy = told["tasks"]["parts"]["accuracies"][MODELS[0]]["qaa"]
    assert accuracy["items"] == 14  # of 16, of which 2 are too long
    assert told["limit"] == 16
    assert told["left_out"][0].startswith("2 left out: too long for the model")


@pytest.mark.parametrize("words", cases("refused-evaluations"))
def test_a_mistake_is_told_before_anything_is_scored(ask: Ask, place: Path, words: str) -> None:
    named = "" if "--name" in words else "--name mistaken"
    done = ask("models/e0", *shlex.split(f"{words} {named}"))
    assert isinstance(done.exception, UserError)
    golden(f"refused-evaluations/{words}", str(done.exception).replace(str(place), "FOLDER"))
    assert not (place / "evaluations/mistaken").exists()
