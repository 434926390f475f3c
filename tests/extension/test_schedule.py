import json
from itertools import pairwise
from pathlib import Path

import pytest

from tests.extension.conftest import Tongues


def rates(workspace: Path, run: str) -> list[float]:
    lines = (workspace / "runs" / run / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["learning_rate"] for line in lines]


def test_a_run_follows_the_schedule_of_another_package(tongues: Tongues, workspace: Path) -> None:
    tongues("train", "small.yaml", "train.schedule={name: sawtooth, period: 25%}")
    of_teeth = rates(workspace, "small")
    assert max(of_teeth) > 1.5 * min(of_teeth)
    assert sum(after > before for before, after in pairwise(of_teeth)) >= 3
    record = json.loads((workspace / "runs/small/run.json").read_text())
    assert record["settings"]["schedule"] == {"name": "sawtooth", "period": "25%"}
    done = tongues("train", "small.yaml", "train.schedule=sawtooth", fails=True)
    assert "small" in done.stderr  # another period is another run


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("{name: sawtoth}", "did you mean `sawtooth`?"),
        ("{name: sawtooth, perod: 25%}", "did you mean `period`?"),
        ("{name: sawtooth, period: 0%}", "a period of no steps"),
        ("{name: sawtooth, period: 99%}", "no period of 99% fits"),
        ("{name: sawtooth, period: long}", "train.schedule.period"),
    ],
)
def test_its_settings_are_checked(tongues: Tongues, schedule: str, message: str) -> None:
    done = tongues("check", "small.yaml", f"train.schedule={schedule}", fails=True)
    assert message in done.stderr


def test_without_the_package_there_is_no_such_schedule(tongues: Tongues) -> None:
    done = tongues("check", "small.yaml", "train.schedule=sawtooth", fails=True, plain=True)
    assert "there is no schedule `sawtooth`" in done.stderr
    assert "`cosine`" in done.stderr


def test_check_shows_the_resolved_schedule(tongues: Tongues) -> None:
    done = tongues("check", "small.yaml", "train.schedule=sawtooth")
    assert "period: 50%" in done.stdout
