from pathlib import Path

import pytest

from tests.extension.conftest import Tongues
from tongues.files import read_json

STUDY = (
    "model={}",
    "train.mixture={}",
    "train.budget=2k tokens",
    "train.num_evals=1",
    "study={source: qaa, targets: [qab], shapes: [0.05M], strategies: [cpt]}",
)


@pytest.mark.long
def test_a_launcher_of_another_package_starts_the_runs_of_a_study(
    tongues: Tongues, workspace: Path
) -> None:
    done = tongues("study", "small.yaml", *STUDY, "--launcher", "apart:partition=any")
    runs = {path.parent.name for path in workspace.glob("runs/small/*/run.json")}
    assert runs == {"qaa-source-0.05M-s1", "qab-cpt-0.05M-s1"}
    assert {f"apart: small/{run}" for run in runs} <= set(done.stdout.splitlines())
    for run in runs:
        assert read_json(workspace / "runs/small" / run / "run.json")["status"] == "finished"


def test_its_name_is_in_the_help_and_its_options_are_its_own(tongues: Tongues) -> None:
    shown = " ".join(tongues("prepare", "--help").stdout.split())
    assert "local; ray; slurm:partition=…,time=…; apart:partition=…." in shown
    assert "apart" not in tongues("prepare", "--help", plain=True).stdout
    words = ("study", "small.yaml", *STUDY, "--launcher")
    done = tongues(*words, "apart:time=1:00:00", fails=True)
    assert "does not take the setting `time=1:00:00`" in done.stderr
    assert "did you mean `apart`?" in tongues(*words, "appart", fails=True).stderr
    assert "there is no launcher `apart`" in tongues(*words, "apart", fails=True, plain=True).stderr


@pytest.mark.long
def test_it_starts_the_ranks_of_prepare(tongues: Tongues, workspace: Path) -> None:
    words = ("prepare", "small.yaml", "name=again", "--ranks", "2", "--launcher", "apart")
    done = tongues(*words)
    assert "apart: again-read-2-of-2" in done.stdout
    again, before = workspace / "tokens/again", workspace / "tokens/small"
    for path in before.rglob("*.bin"):
        assert (again / path.relative_to(before)).read_bytes() == path.read_bytes()
    assert list(before.rglob("*.bin"))
