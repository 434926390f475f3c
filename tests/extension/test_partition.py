import json
from pathlib import Path

import pytest

from tests.extension.conftest import Tongues

EXPERTS = """
  partitions:
    - {by: alphabet, k: 2}
    - {by: alphabet, k: 1, backwards: true}
"""


@pytest.fixture
def experts(tongues: Tongues, workspace: Path) -> Path:
    """A recipe of experts partitioned by the alphabet, and its base model."""
    tongues("train", "small.yaml", "train.run=base", "train.budget=2k tokens")
    recipe = (workspace / "small.yaml").read_text().replace("model: {shape: 0.1M}", "")
    recipe = recipe.replace("  mixture: {qaa: 100%}\n", "  base: base\n")
    (workspace / "experts.yaml").write_text(recipe + f"experts:{EXPERTS}")
    return workspace


def test_experts_of_a_partition_of_another_package(tongues: Tongues, experts: Path) -> None:
    done = tongues("experts", "partition", "experts.yaml")
    assert "alphabet-2" in done.stdout and "alphabet-1-backwards" in done.stdout
    written = experts / "partitions/small/alphabet-2/partition.json"
    assert json.loads(written.read_text())["clusters"] == [["qaa"], ["qab"]]
    page = (experts / "reports/small-alphabet-2/index.html").read_text()
    assert "by alphabet, languages with like tags together" in page
    assert "tags tell nothing about languages" in page
    only = "experts={partitions: [{by: alphabet, k: 2}]}"
    tongues("experts", "train", "experts.yaml", only, "train.budget=4k tokens")
    runs = sorted(path.name for path in (experts / "runs/small").glob("alphabet*"))
    assert runs == ["alphabet-2-e0-s1", "alphabet-2-e1-s1"]
