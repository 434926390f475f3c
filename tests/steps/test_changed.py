"""A recipe that was changed after its runs: what comes next keeps them, and goes on."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import tongues
from tests.test_steps import page, steps
from tongues.core.errors import UserError
from tongues.core.files import write_json
from tongues.runs.record import read_run, write_run
from tongues.text.tokens import open_tokens, runs_trained_on
from tongues.train.study import plan_runs
from tongues.train.work import open_work
from tongues.verbs.main import command

GRID = "name: grid\nextends: small.yaml\nmodel: null\ntrain: {mixture: null}\n"
STUDY = "study: {source: qaa, targets: [qab], shapes: [0.1M]}\n"


@pytest.fixture
def workspace(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of small runs, and its recipe."""
    shutil.copytree(project, tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")
    Path("grid.yaml").write_text(GRID + STUDY)
    shutil.copytree("tokens/small", "tokens/grid")
    train("grid.yaml")
    return tmp_path / "w"


def train(file: str, *overrides: str) -> None:
    """Write the records of a study's runs, and its page."""
    recipe = tongues.load_recipe(file, overrides)
    mark = open_tokens(Path("tokens", recipe.name)).fingerprint
    for plan in plan_runs(open_work(recipe)):
        place = Path("runs", plan.name)
        shutil.copytree("runs/small", place, dirs_exist_ok=True)
        own = {"run": plan.name, "strategy": plan.strategy, "settings": plan.identity()}
        write_run(place, replace(read_run(place), tokens_fingerprint=mark, **own))
    write_json(Path("runs", recipe.name, ".plans.json"), {})
    page(recipe.name)


def test_a_changed_study_goes_on_under_the_name_that_was_prepared(workspace: Path) -> None:
    assert steps()["grid.yaml"].startswith("tongues study grid.yaml 'study.shapes=")
    Path("grid.yaml").write_text(GRID.replace("null}", "null, warmup: 9%}") + STUDY)
    assert steps()["grid.yaml"] == "tongues prepare grid.yaml name=grid-2"
    shutil.copytree("tokens/small", "tokens/grid-2")
    assert steps()["grid.yaml"] == "tongues study grid.yaml name=grid-2"
    train("grid.yaml", "name=grid-2")
    assert steps()["grid.yaml"].startswith("tongues study grid.yaml name=grid-2 'study.shapes=")
    assert steps()["runs/grid"].startswith("tongues study RECIPE ")  # not grid.yaml: it is refused
    Path("grid.yaml").write_text(GRID.replace("null}", "null, warmup: 8%}") + STUDY)
    assert steps()["grid.yaml"] == "tongues prepare grid.yaml name=grid-3"


def test_a_mistake_needs_no_other_name(workspace: Path) -> None:
    Path("grid.yaml").write_text(GRID.replace("null}", "null, micro_batch: 7 tokens}") + STUDY)
    assert steps()["grid.yaml"] == "tongues check grid.yaml"


def test_tokens_of_runs_are_kept(workspace: Path) -> None:
    Path("grid.yaml").write_text(GRID + "tokens: {vocab_size: 300}\n" + STUDY)
    assert steps()["grid.yaml"] == "tongues prepare grid.yaml name=grid-2"
    with pytest.raises(UserError) as caught:
        tongues.prepare("grid.yaml")
    assert caught.value.hint.startswith("keep both with `name=")
    assert len(runs_trained_on(Path("tokens/grid"))) == 4
    assert "and 3 more runs were trained on these tokens" in caught.value.hint
    done = CliRunner().invoke(command, ["prepare", "grid.yaml", "--overwrite"])
    assert "caution: `grid/qaa-source-0.1M-s1` and 3 more runs were trained on" in done.stderr
    assert runs_trained_on(Path("tokens/grid")) == []
    assert steps()["grid.yaml"] == "tongues prepare grid.yaml name=grid-2"
    shutil.rmtree("runs")
    Path("grid.yaml").write_text(GRID + STUDY)
    assert steps()["grid.yaml"] == "tongues prepare grid.yaml --overwrite"


def test_a_run_of_its_own_name_is_renamed_besides_its_tokens(workspace: Path) -> None:
    edited = Path("small.yaml").read_text().replace("vocab_size: 400", "vocab_size: 300")
    Path("small.yaml").write_text(edited.replace("train:\n", "train:\n  run: small\n"))
    assert steps()["small.yaml"] == "tongues prepare small.yaml name=small-2"
    tongues.prepare("small.yaml", ["name=small-2"], quiet=True)
    page("small")
    assert steps()["small.yaml"] == "tongues train small.yaml name=small-2 train.run=small-2"


def test_runs_that_were_added_to_a_study_are_trained(workspace: Path) -> None:
    Path("grid.yaml").write_text(GRID + STUDY.replace("[0.1M]", "[0.1M], seeds: [1, 2]"))
    step = next(step for step in tongues.next_steps() if step.place == "grid.yaml")
    assert step.command == "tongues study grid.yaml"
    assert step.reason == "3 of 6 runs are not trained yet"
