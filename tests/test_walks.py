"""The ways of a recipe and of a table through the package: few files, little going back up."""

from pathlib import Path
from typing import Any

import pytest

import tongues
from tests.printed import DOCS
from tests.test_structure import ORDER, room_of
from tests.walks import walked
from tongues.laws.fit import FitTask
from tongues.laws.rows import Rows
from tongues.plan.check import Checked
from tongues.recipe import Recipe
from tongues.runs.tables import Observations, RunTable
from tongues.train import run
from tongues.train.planned import RunPlan
from tongues.train.work import Work
from tongues.verbs.laws import Fit


class Begun(Exception):
    """The training itself begins."""


def floor(file: str) -> int:
    """Where a file's room is in the order."""
    return ORDER.index(room_of(file.removesuffix(".py").replace("/", ".")))


@pytest.mark.parametrize("continued", [False, True])
def test_a_recipe_walks_straight_into_training(
    continued: bool, recipe_file: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(*_: object, **__: object) -> Path:
        raise Begun

    workspace = trained.parents[1]
    base = [
        "train.base=small",
        "train.mixture={qab: 100%}",
        "train.run=more",
        "train.replay={qaa: 10%}",
    ]
    monkeypatch.setattr(run, "train", begin)
    with walked((Recipe, Work, Checked, RunPlan), floor) as walk, pytest.raises(Begun):
        tongues.train(recipe_file, base if continued else ["train.run=more"], workspace, quiet=True)
    assert len(set(walk.stops)) <= 10 and walk.climbs <= 4, walk.stops
    assert walk.calls.count("train/work.py:open_work") == 1


@pytest.mark.parametrize(
    "words",
    [{"law": "cpt"}, {"where": "strategy == 'scratch'"}, {"compare": True}],
    ids=["one law", "chosen rows", "compared"],
)
def test_a_table_walks_straight_into_a_law(words: dict[str, Any]) -> None:
    table = DOCS / "examples/runs.csv"
    kinds = (type(table), Fit, RunTable, Observations, Rows, FitTask)
    tongues.fit(table, draws=0)  # what is imported when first used is there
    with walked(kinds, floor) as walk:
        tongues.fit(table, draws=10, **words)
    assert len(set(walk.stops)) <= 10 and walk.climbs <= 3, walk.stops
    assert walk.calls.count("runs/tables/files.py:read_table") == 1
