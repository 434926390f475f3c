"""Scores of a run on tasks while it trains."""

import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import PreTrainedModel

import tongues
from tests.conftest import MakeRecipe
from tests.train.test_run import digests
from tongues.errors import Stopped, UserError
from tongues.evaluate.milestones import MilestoneTasks
from tongues.evaluate.tasks import read_train_tasks
from tongues.files import read_lines
from tongues.report.curves import task_figure
from tongues.tokens import Tokens, load_tokenizer, open_tokens
from tongues.train import run_of_recipe
from tongues.train.run import train

ITEMS, STEPS = 60, 39
TASK = """
name: order
prompt: "{text}"
choices: ["{right}", "{wrong}"]
group: "{place}"
label: null
"""


@pytest.fixture(scope="module")
def data(tokens: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task of held-out text: which words come next, those that do or others; two a group."""
    folder = tmp_path_factory.mktemp("task")
    (folder / "order.yaml").write_text(TASK)
    (folder / "order").mkdir()
    opened = open_tokens(tokens)
    text = load_tokenizer(opened.tokenizer_path).decode(opened.valid("qaa").tolist())
    words = text.split()
    rows = []
    for n in range(0, 10 * ITEMS, 10):
        ends = [" ".join(words[start : start + 2]) for start in (n + 4, n + 60)]
        right, wrong = (
            reversed(ends) if n // 20 % 3 == 0 else ends
        )  # whole groups are answered wrong
        text = " ".join(words[n : n + 4])
        rows.append({"text": text, "place": str(n // 20), "right": right, "wrong": wrong})
    (folder / "order/qaa.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def overrides(data: Path) -> tuple[str, ...]:
    tasks = f"{{names: ['{data}/order.yaml:qaa'], data: {data}, every: 50%}}"
    return (f"train.tasks={tasks}",)


def test_scores_are_those_of_evaluate_and_training_is_the_same(
    recipe_file: Path, data: Path, workspace: Path, trained: Path
) -> None:
    options = [*overrides(data), "train.run=scored"]
    scored = tongues.train(recipe_file, options, workspace=workspace, quiet=True)
    assert digests(scored) == digests(trained)  # weights and losses are not touched by it
    rows = read_lines(scored / "tasks.jsonl")
    assert [row["step"] for row in rows] == [0, 20, 39]
    assert {(row["task"], row["lang"]) for row in rows} == {("order", "qaa")}
    evaluation = tongues.evaluate(
        "scored", workspace, tasks=f"{data}/order.yaml", data=data, page=False, quiet=True
    )
    last = evaluation.tasks["order"].accuracies["scored"]["qaa"]
    assert (rows[-1]["accuracy"], rows[-1]["low"]) == (last.share.value, last.share.low)
    assert last.chance and rows[-1]["chance"] == last.chance.level == 0.5
    (unit,) = (workspace / "evaluations/evaluation/units").rglob("*.json")
    items = json.loads(unit.read_text())["result"]["scores"]
    right = [np.argmax(np.array(x["sums"]) / x["tokens"]) == x["label"] for x in items]
    sums = dict.fromkeys((x["group"] for x in items), 0.0)
    for item, one in zip(items, right, strict=True):
        sums[item["group"]] += one - np.mean(right)
    assert rows[-1]["groups"] == len(sums) < rows[-1]["items"] == len(items)
    clustered = np.sqrt(sum(x**2 for x in sums.values()) * len(sums) / (len(sums) - 1))
    least = 1 / len(sums)  # equal answers do not prove that further ones are equal
    assert rows[-1]["error"] == pytest.approx(max(clustered / len(items), least))
    assert read_lines(scored / "timing.jsonl")[-1]["task_seconds"] > 0
    figure = task_figure([scored])
    assert figure and "of training" in figure.caption
    assert [row["accuracy"] for row in figure.rows] == [100 * row["accuracy"] for row in rows]


def test_what_is_broken_off_is_scored_when_the_run_resumes(
    make_recipe: MakeRecipe, data: Path, workspace: Path
) -> None:
    recipe = make_recipe(*overrides(data))
    assert recipe.train.tasks
    score = MilestoneTasks(read_train_tasks(recipe.train.tasks))
    calls: list[int] = []

    def interrupted(
        model: PreTrainedModel, tokens: Tokens, between: Callable[[], None]
    ) -> list[dict[str, Any]]:
        calls.append(1)
        if len(calls) in (1, 3, 5):
            os.kill(os.getpid(), signal.SIGINT)
        return score(model, tokens, between)

    plan = run_of_recipe(recipe)
    whole = train(replace(plan, name="whole"), workspace, score_tasks=score)
    parts = replace(plan, name="parts")
    for step in (0, 20, 39):
        with pytest.raises(Stopped, match=f"at step {step} of {STEPS}"):
            train(parts, workspace, score_tasks=interrupted)
        assert len(read_lines(workspace / "runs/parts/tasks.jsonl")) == {0: 0, 20: 1, 39: 2}[step]
    train(parts, workspace, score_tasks=interrupted)
    assert len(calls) == 6
    assert digests(workspace / "runs/parts") == digests(whole)
    kept = [(place / "tasks.jsonl").read_bytes() for place in (whole, workspace / "runs/parts")]
    assert kept[0] == kept[1]


@pytest.mark.parametrize(
    ("tasks", "where", "what"),
    [
        ("{names: [order], data: DATA}", "train.tasks.names", "`order` is not a task"),
        ("{names: ['lm-eval:piqa'], data: DATA}", "train.tasks.names", "`lm-eval` is not"),
        ("{names: [xcopa], data: DATA}", "train.tasks", "no"),
        ("{names: ['DATA/order.yaml:qab'], data: DATA}", "train.tasks", "`qab`"),
    ],
)
def test_what_cannot_be_scored_is_refused_before_work(
    tasks: str, where: str, what: str, recipe_file: Path, data: Path, workspace: Path
) -> None:
    override = f"train.tasks={tasks.replace('DATA', str(data))}"
    for verb in (tongues.check, tongues.train):
        with pytest.raises(UserError) as caught:
            verb(recipe_file, [override], workspace=workspace)
        assert caught.value.where == where and what in caught.value.what
    assert not (workspace / "runs").exists()


def test_a_study_takes_no_tasks(recipe_file: Path, data: Path) -> None:
    study = "study={source: qaa, targets: [qab], shapes: [0.1M]}"
    with pytest.raises(UserError, match="score the models by `tongues evaluate`"):
        tongues.check(recipe_file, [study, *overrides(data)])
