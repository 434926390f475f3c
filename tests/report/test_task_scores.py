"""Task scores on the page of a study: what its runs had, and what is to come."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.report.evaluation.scored import SCRATCH, about
from tongues.estimate import Estimate
from tongues.evaluate.evaluation import Accuracy, Evaluation, TaskScores
from tongues.evaluate.losses import Policy
from tongues.evaluate.task_forecasts import task_forecasts
from tongues.pages import page_as_html
from tongues.report.study import study_page
from tongues.runs import find_runs, read_run
from tongues.significance import Chance
from tongues.study.findings import Findings


def scored(runs: Path, known: Findings, *, chance: bool) -> Evaluation:
    """All runs on a task in `near`, by a sigmoid of their loss or at chance."""
    losses = {run.name: run.bits_per_byte["near"] for run in known.runs if run.lang == "near"}
    middle, random = min(losses.values()), np.random.default_rng(0)
    models, accuracies = [], {}
    for record in map(read_run, find_runs([runs])):
        if record.run not in losses:
            continue
        rise = 0.0 if chance else 0.75 / (1 + np.exp((losses[record.run] - middle) / 0.1))
        share = random.binomial(400, 0.25 + rise) / 400
        half = 1.96 * float(np.sqrt(share * (1 - share) / 400))
        of = Estimate(share, share - half, share + half)
        accuracies[record.run] = {"near": Accuracy(of, Chance(0.25, 0.02), None, 400, 400, 1)}
        model = about(SCRATCH)
        assert model.trained is not None
        trained = replace(model.trained, run=record.run, fingerprint=record.fingerprint)
        models.append(replace(model, name=record.run, trained=trained))
    scores = TaskScores(
        normalisation="sum",
        num_fewshot=0,
        metric="",
        share=True,
        lower_is_better=False,
        accuracies=accuracies,
        mean={},
        chance=None,
        translated=False,
        best={},
        leaders={},
        compared=[],
    )
    return Evaluation("0", models, Policy(), {}, {"order": scores}, {}, [])


def test_the_page_of_a_study_forecasts_scores_or_says_why_not(
    made_study: Path, made_findings: Findings, tmp_path: Path
) -> None:
    records = [read_run(place) for place in find_runs([made_study])]
    place = tmp_path / "runs/study"
    assert task_forecasts([place], records, made_findings) == []
    for name, chance in (("order", False), ("guess", True)):
        (tmp_path / "evaluations" / name).mkdir(parents=True)
        evaluation = scored(made_study, made_findings, chance=chance)
        task = {name: evaluation.tasks["order"]}
        replace(evaluation, tasks=task).write(tmp_path / "evaluations" / name)
    forecasts = task_forecasts([place], records, made_findings)
    page = study_page(made_findings, tasks=forecasts)
    text = page_as_html(page)
    assert "Task scores to come" in text
    assert "all runs are at chance" in text
    rows = {row["task"]: row for row in page.numbers["task_forecasts"]}
    assert rows["guess"]["reason"] == "all runs are at chance"
    order = rows["order"]
    assert (order["reason"], order["language"], order["chance"]) == ("", "near", 0.25)
    runs = [run for run in made_findings.runs if run.lang == "near"]
    lowest = order["lowest_loss"]
    assert (order["runs"], lowest) == (len(runs), min(run.bits_per_byte["near"] for run in runs))
    ahead = order["at_lower_loss"]
    true = 0.25 + 0.75 / (1 + np.exp(-0.1 * lowest / 0.1))
    assert ahead["low"] < true < ahead["high"]
    more = replace(evaluation.tasks["order"], num_fewshot=8)
    best = {name: more.accuracies[name] for name in list(more.accuracies)[:3]}
    (tmp_path / "evaluations" / "order-8").mkdir()
    task = {"order": replace(more, accuracies=best)}
    replace(scored(made_study, made_findings, chance=False), tasks=task).write(
        tmp_path / "evaluations" / "order-8"
    )
    mixed = {of.task: of for of in task_forecasts([place], records, made_findings)}
    assert mixed["order"].to_json() == order  # of one kind, that which most runs have
    assert (mixed["order"].num_fewshot, mixed["order"].items) == (0, 400)
    replace(
        scored(made_study, made_findings, chance=True),
        tasks={"order": replace(more, num_fewshot=0, accuracies=best)},
        examples={"order": {"near": "the same item in other words"}},
    ).write(tmp_path / "evaluations" / "order-8")
    mixed = {of.task: of for of in task_forecasts([place], records, made_findings)}
    assert mixed["order"].to_json() == order  # nor are prompts mixed
    other = replace(records[0], fingerprint="other")
    assert task_forecasts([place], [other], made_findings) == []
