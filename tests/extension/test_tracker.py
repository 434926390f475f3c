import json
from pathlib import Path

from tests.extension.conftest import Tongues


def test_a_run_is_copied_to_the_tracker_of_another_package(
    tongues: Tongues, workspace: Path
) -> None:
    words = ("train", "small.yaml", "train.budget=2k tokens", "train.track=lines")
    tongues(*words)
    run = workspace / "runs/small"
    rows = list(map(json.loads, (run / "lines.jsonl").read_text().splitlines()))
    steps = [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "train/loss" in row] == steps
