import json
from itertools import pairwise
from pathlib import Path

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


def test_check_shows_the_resolved_schedule(tongues: Tongues) -> None:
    done = tongues("check", "small.yaml", "train.schedule=sawtooth")
    assert "period: 50%" in done.stdout
