import csv
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.experts.ensemble.making import make_ensemble, make_expert, make_tokenizer
from tests.records import make_run
from tests.report.evaluation.scored import MIXED, SOURCE, outcome
from tongues import laws
from tongues.core.errors import UserError
from tongues.core.pages import write_figures
from tongues.experts.ensemble.model import open_model
from tongues.report.evaluation.view import newest_scores
from tongues.report.laws import law_figures
from tongues.runs.record import write_run


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


def test_each_figure_is_three_whole_files_of_always_the_same_bytes(tmp_path: Path):
    folder = tmp_path / "deep" / "figures"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    drawn = law_figures([laws.preset("hoffmann2022")])
    told: list[str] = []
    written = write_figures(drawn, folder, told.append)
    assert written == [folder / f"{figure.name}.svg" for figure in drawn]
    names = [f"{figure.name}.{kind}" for figure in drawn for kind in ("svg", "png", "csv")]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*names, "notes.txt"])
    for figure, path in zip(drawn, written, strict=True):
        assert path.read_text().endswith("</svg>")
        assert path.with_suffix(".png").read_bytes().endswith(b"IEND\xaeB`\x82")
        with path.with_suffix(".csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(figure.rows)
        assert float(rows[-1]["compute"]) == figure.rows[-1]["compute"]
    assert [line.split()[0] for line in told] == ["drawing"] * len(drawn)
    first = written[0].read_text()
    assert "The same loss from many sizes" in first and "Along a thin line" in first
    used = set(re.findall(r"url\(#(\w+)\)", first))
    assert used and used <= set(re.findall(r'id="(\w+)"', first))
    before = {name: (folder / name).read_bytes() for name in names}
    write_figures(drawn, folder)
    assert {name: (folder / name).read_bytes() for name in names} == before


def test_a_file_is_no_folder(tmp_path: Path):
    place = tmp_path / "figures"
    place.write_text("mine")
    with pytest.raises(UserError, match="is a file"):
        write_figures([], place)
    assert place.read_text() == "mine"
