import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.experts.ensemble.making import make_ensemble, make_expert, make_tokenizer
from tests.records import make_run
from tests.report.evaluation.scored import MIXED, SOURCE, outcome
from tongues.experts.ensemble.model import open_model
from tongues.report.evaluation.view import newest_scores
from tongues.runs import write_run


def evaluated(workspace: Path, name: str, age: int, *models: str, **about: Any) -> None:
    """An evaluation in the workspace, so many seconds old by the clock; `about` the last model."""
    folder = workspace / "evaluations" / name
    folder.mkdir(parents=True)
    plain = outcome(models, languages=("qaa",)).to_json()
    plain["models"][-1] |= about
    (folder / "scores.json").write_text(json.dumps(plain))
    os.utime(folder / "scores.json", (age, age))


def run(workspace: Path, name: str, fingerprint: str = "0" * 16) -> Path:
    directory = workspace / "runs" / name
    directory.mkdir(parents=True, exist_ok=True)
    write_run(directory, make_run(run=name, fingerprint=fingerprint))
    return directory


def test_the_newest_evaluation_of_the_run_as_it_is(tmp_path: Path) -> None:
    mixed = run(tmp_path, MIXED)
    assert newest_scores(mixed, tmp_path).section == ""
    evaluated(tmp_path, "old", 1, SOURCE, MIXED)
    evaluated(tmp_path, "new", 2, MIXED)
    assert "# Versus" not in newest_scores(mixed, tmp_path).section  # the newest has one model
    (tmp_path / "evaluations/damaged").mkdir()
    (tmp_path / "evaluations/damaged/scores.json").write_text('{"models": [')
    assert "# Versus" not in newest_scores(mixed, tmp_path).section
    assert "### Losses on study" in newest_scores(run(tmp_path, SOURCE), tmp_path).section
    losses = newest_scores(mixed, tmp_path).scores[0]
    assert (losses.source, losses.language, losses.metric) == ("study", "qaa", "bits_per_byte")
    expected = outcome((MIXED,), languages=("qaa",)).texts["study"].losses[MIXED]["qaa"]
    assert losses.value == expected.bits_per_byte
    trained_otherwise = run(tmp_path, MIXED, fingerprint="1" * 16)
    assert newest_scores(trained_otherwise, tmp_path).section == ""


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """An ensemble of two experts."""
    tokenizer = make_tokenizer(tmp_path / "tokens")
    places = [make_expert(tmp_path / f"runs/e{n}/model", tokenizer, seed=n) for n in range(2)]
    return make_ensemble(tmp_path, places, tokenizer)


def test_an_ensemble_is_known_by_its_bytes_whatever_it_was_called(
    pair: Path, tmp_path: Path
) -> None:
    name = str(pair.relative_to(tmp_path / "ensembles"))
    for age, way in enumerate(("filter:1", "tfidf:2")):
        mark = open_model(f"{name}@{way}", tmp_path).fingerprint
        about = {"kind": "ensemble", "routing": way, "fingerprint": mark, "trained": None}
        evaluated(tmp_path, f"by-{age}", age, SOURCE, MIXED, **about)
    assert "Routing: `tfidf:2`." in newest_scores(pair, tmp_path).section
    other = tmp_path / "other"
    shutil.copytree(pair, other)
    text = (other / "ensemble.json").read_text()
    (other / "ensemble.json").write_text(text.replace('"sha256": "', '"sha256": "0', 1))
    assert newest_scores(other, tmp_path).section == ""


def test_a_folder_is_known_by_its_bytes(pair: Path, tmp_path: Path) -> None:
    folder, moved = tmp_path / "runs/e0/model", tmp_path / "moved"
    mark = open_model(str(folder), tmp_path).fingerprint
    about = {"kind": "folder", "routing": "", "fingerprint": mark, "trained": None}
    evaluated(tmp_path, "of-it", 1, SOURCE, MIXED, **about)
    shutil.copytree(folder, moved)
    assert "## Evaluation" in newest_scores(moved, tmp_path).section
    assert newest_scores(tmp_path / "runs/e1/model", tmp_path).section == ""
