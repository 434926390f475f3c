"""Held-out text that fits a run, the time that it takes, and a first estimate."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.evaluate.conftest import WORDS, write_asked
from tests.records import make_run
from tongues.evaluate import sizing
from tongues.evaluate.sizing import ALL, early_parts, expected_seconds, fitting_tokens
from tongues.text import Document
from tongues.verbs.main import command

MODELS = ("models/e0", "models/e1")


def documents(lang: str, groups: list[str]) -> list[Document]:
    return [Document(f"{n}", lang, "the ban " * 10, group, "x") for n, group in enumerate(groups)]


def test_an_evaluation_costs_what_its_runs_cost() -> None:
    run = replace(make_run(), tokens=20_000, seconds=400.0, engine={"processes": 1})
    assert fitting_tokens([run], models=2, languages=2) == 15_000
    assert fitting_tokens([run, run], models=2, languages=2) == 30_000
    assert fitting_tokens([], models=2, languages=2) == ALL
    held_out = {"sw": 97_000, "en": 97_000}
    assert expected_seconds(run, held_out, 2) == pytest.approx(400 + sizing.START)
    assert expected_seconds(run, {"sw": 3000, "en": 3000}, 2) == pytest.approx(
        sizing.START + 2 * 3000 * 400 / 60_000
    )
    assert expected_seconds(replace(run, seconds=None), held_out, 2) is None


def test_parts_grow_and_translations_stay_together() -> None:
    groups = [f"verse {n // 2}" for n in range(100)]  # two documents each
    texts = {"bible": {"sw": documents("sw", groups), "fr": documents("fr", groups[::-1])}}
    size = sum(len(x.text) for by in texts.values() for of in by.values() for x in of)
    speed = 2 * 1 * size / sizing.BYTES  # FLOPs of a model of one parameter
    stored = int(sizing.STORED * 100 * sizing.FIRST * sizing.SPEEDS["cpu"] / speed)
    parts = early_parts(texts, stored, "cpu")
    assert [round(share, 2) for share, _ in parts] == [0.06, 0.1]
    small, large = ({x: {of.group for of in by} for x, by in t["bible"].items()} for _, t in parts)
    assert small["sw"] == small["fr"] and len(small["sw"]) == 6  # one of each group first
    assert small["sw"] < large["sw"] and len(large["sw"]) == 10
    assert early_parts(texts, stored // 50, "cpu") == []
    few = {"bible": {x: of[:12] for x, of in texts["bible"].items()}}  # six would be half of them
    assert early_parts(few, 100 * stored, "cpu") == []


@pytest.fixture
def ask(house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    (tmp_path / "models").symlink_to(house / "models")
    texts = [f"the {one} of a {other} is an art" for one in WORDS for other in WORDS]
    write_asked(tmp_path, texts, [], "qaa", "qab")
    monkeypatch.chdir(tmp_path)
    words = ["evaluate", *MODELS, "--text", "texts"]
    return lambda *more: CliRunner().invoke(command, [*words, *more])


def test_a_first_estimate_changes_no_byte_of_the_last(
    ask: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = ask("--name", "plain", "--json")
    assert plain.exit_code == 0, plain.output
    assert "first estimate" not in plain.stderr
    monkeypatch.setattr(sizing, "FIRST", 1e-5)
    early = ask("--name", "early")
    assert early.stderr.count("a first estimate, by about 7.4% of the text:") == 1  # 6 of 81
    scores = [
        json.loads((tmp_path / f"evaluations/{x}/scores.json").read_text())
        for x in ("plain", "early")
    ]
    assert scores[1] | {"name": "plain"} == scores[0]
    assert not (tmp_path / "evaluations/early/early").exists()


def test_an_interruption_leaves_the_first_estimate(
    ask: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tongues.evaluate import runner

    monkeypatch.setattr(sizing, "FIRST", 1e-5)
    score, calls = runner.evaluate, list[int]()

    def interrupted(*given: Any, **more: Any) -> object:
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return score(*given, **more)

    monkeypatch.setattr(runner, "evaluate", interrupted)
    ask("--name", "cut")
    kept = json.loads((tmp_path / "evaluations/cut/scores.json").read_text())
    assert (
        kept["limit"]
        and kept["texts"]["texts"]["losses"]["models/e0"]["qaa"]["documents"] == kept["limit"]
    )
    assert kept["left_out"][-1].startswith("all but about ")
