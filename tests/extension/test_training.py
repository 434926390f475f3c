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


def test_a_run_is_copied_to_the_tracker_of_another_package(
    tongues: Tongues, workspace: Path
) -> None:
    words = ("train", "small.yaml", "train.budget=2k tokens", "train.track=lines")
    tongues(*words)
    run = workspace / "runs/small"
    rows = list(map(json.loads, (run / "lines.jsonl").read_text().splitlines()))
    steps = [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "train/loss" in row] == steps


EXPERTS = "experts: {partitions: [{by: alphabet, k: 2, backwards: true}]}\n"


def test_experts_of_a_partition_of_another_package(tongues: Tongues, workspace: Path) -> None:
    tongues("train", "small.yaml", "train.run=base", "train.budget=1k tokens")
    recipe = (workspace / "small.yaml").read_text().replace("model: {shape: 0.1M}", "")
    recipe = recipe.replace("  mixture: {qaa: 100%}\n", "  base: base\n")
    (workspace / "experts.yaml").write_text(recipe + EXPERTS)
    done = tongues("experts", "partition", "experts.yaml")
    assert "alphabet-2-backwards" in done.stdout
    written = workspace / "partitions/small/alphabet-2-backwards/partition.json"
    assert json.loads(written.read_text())["clusters"] == [["qab"], ["qaa"]]
    page = (workspace / "reports/small-alphabet-2-backwards/index.html").read_text()
    assert "by alphabet, languages with like tags together" in page
    assert "tags tell nothing about languages" in page
    words = ("experts", "train", "experts.yaml", "train.budget=1k tokens", "train.num_evals=1")
    tongues(*words, "train.eval_tokens=100 tokens")
    runs = sorted(path.name for path in (workspace / "runs/small").glob("alphabet*"))
    assert runs == ["alphabet-2-backwards-e0-s1", "alphabet-2-backwards-e1-s1"]
