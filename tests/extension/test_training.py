import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from safetensors import safe_open

from tests.command import Done, run_command
from tests.experts.ensemble.making import make_expert, make_tokenizer
from tests.extension.conftest import Tongues
from tests.golden import cases, golden, inputs
from tongues.core.files import read_json


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


def test_a_run_is_trained_by_the_optimizer_of_another_package(
    tongues: Tongues, workspace: Path
) -> None:
    lion, budget = "train.optimizer={name: lion, memory: 0.9}", "train.budget=2k tokens"
    tongues("train", "small.yaml", lion, budget, "train.milestones=[50%]")
    run = workspace / "runs/small"
    assert read_json(run / "run.json")["settings"]["optimizer"] == {"name": "lion", "memory": 0.9}
    (milestone,) = run.glob("checkpoints/milestone-*")
    with safe_open(next(milestone.glob("*.safetensors")), "np") as stored:
        names = stored.keys()
        kinds = Counter(name.partition("/")[0] for name in names)
    assert kinds["mean"] == kinds["weights"] == kinds.total() / 2
    usual, less = (
        json.loads(tongues("check", "small.yaml", "train.run=other", choice, "--json").stdout)
        for choice in ("train.optimizer=adamw", lion)
    )
    params, sizes = usual["runs"][0]["parameters"], ("memory", "checkpoint_bytes")
    saved = [usual["runs"][0][size] - less["runs"][0][size] for size in sizes]
    assert saved[1] == 4 * params["total"]
    assert saved[0] == pytest.approx(4 * params["total"], rel=0.04)


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


WORDS = ("ban", "mal", "art", "end", "here", "that", "go", "on", "said", "word", "is", "of")


def test_it_is_scored_and_reported(tmp_path: Path, environment: dict[str, str]) -> None:
    tokenizer = make_tokenizer(tmp_path / "tokens")
    for number in range(2):
        make_expert(tmp_path / f"models/e{number}", tokenizer, seed=number)
    items = [
        {"said": word, "other": other, "label": 0}
        for word, other in zip(WORDS, WORDS[::-1], strict=True)
    ]
    (tmp_path / "items/echo").mkdir(parents=True)
    (tmp_path / "items/echo/qaa.jsonl").write_text("\n".join(map(json.dumps, items)))

    def tongues(*words: str) -> Done:
        return run_command(words, tmp_path, environment)

    models = ("models/e0", "models/e1")
    done = tongues("evaluate", *models, "--tasks", "echo", "--data", "items")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "Accuracy in echo. In %; choices compared by mean log-probability of a token, no demonstr"
    )
    about = "`echo` in `qaa`: 12 items, differences from about 40.4 points can be detected"
    assert about in done.stderr
    scores = json.loads((tmp_path / "evaluations/evaluation/scores.json").read_text())
    assert scores["tasks"]["echo"]["accuracies"]["models/e0"]["qaa"]["items"] == len(WORDS)
    assert "echo" in (tmp_path / done.stdout.splitlines()[-1]).read_text()
    wrong = tongues("evaluate", "models/e0", "--tasks", "ecko")
    assert "did you mean `echo`?" in wrong.stderr


STUDY: list[str] = inputs("overrides")["study of one strategy"]


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
    assert "local; slurm:partition=…,time=…; apart:partition=…." in shown
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


@pytest.mark.parametrize("override", cases("refused-extras"))
def test_settings_are_checked(tongues: Tongues, override: str) -> None:
    done = tongues("check", "small.yaml", "train.base=x", override, fails=True)
    golden(f"refused-extras/{override}", done.stderr)


@pytest.mark.parametrize("override", cases("unknown-extras"))
def test_without_the_package_its_objects_are_unknown(tongues: Tongues, override: str) -> None:
    done = tongues("check", "small.yaml", "train.base=x", override, fails=True, plain=True)
    golden(f"unknown-extras/{override}", done.stderr)
