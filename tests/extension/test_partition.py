import json
from pathlib import Path

from tests.extension.conftest import Tongues

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
