"""The number of threads: the fastest in a trial."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from tests.conftest import MakeRecipe
from tests.train.making import STOPPABLE, plan_of, train_and_stop
from tongues.cores import core_count
from tongues.errors import UserError
from tongues.runs import Run, read_run, write_run
from tongues.train import RunPlan, run, start
from tongues.train.run import train
from tongues.train.threads import fastest

SHORT = "train.budget=2k tokens"


def unbound(make_recipe: MakeRecipe, *overrides: str, name: str) -> RunPlan:
    """A run that names no number of threads."""
    plan = plan_of(make_recipe, *overrides, name=name)
    return replace(plan, settings=plan.settings.model_copy(update={"threads": None}))


def threads_of(record: Run) -> int:
    assert record.engine
    return record.engine["threads"]


@pytest.mark.parametrize(
    ("seconds", "chosen"),
    [
        ({8: 1.0, 4: 2.0, 2: 4.0, 1: 8.0}, 8),
        ({8: 3.0, 4: 2.0, 2: 4.0, 1: 8.0}, 4),
        ({8: 9.0, 4: 5.0, 2: 3.0, 1: 1.0}, 1),
        ({8: 1.0, 4: 1.0, 2: 1.0, 1: 1.5}, 2),  # no more than pay
        ({8: 0.9, 4: 1.0, 2: 2.0, 1: 4.0}, 8),
    ],
)
def test_threads_are_as_many_as_pay(seconds: dict[int, float], chosen: int) -> None:
    tried: list[int] = []

    def measured(threads: int) -> float:
        tried.append(threads)
        return seconds[threads]

    assert fastest(measured, 8) == chosen
    assert all(later == earlier // 2 for earlier, later in pairwise(tried))
    assert fastest(lambda threads: 1 / threads, 1) == 1
    assert fastest(lambda threads: abs(threads - 6) + 1.0, 6) == 6


def test_a_run_takes_no_more_threads_than_the_environment_grants(
    make_recipe: MakeRecipe, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    free = read_run(train(unbound(make_recipe, SHORT, name="free"), workspace))
    assert 1 <= threads_of(free) <= core_count()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    bound = read_run(train(unbound(make_recipe, SHORT, name="bound"), workspace))
    assert threads_of(bound) == torch.get_num_threads() == 1


def test_a_resumed_run_keeps_its_threads_and_its_micro_batch(
    make_recipe: MakeRecipe, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([1, 2])
    monkeypatch.setattr(run, "threads_for", lambda processes: 2)
    monkeypatch.setattr(start, "choose_threads", lambda setup: next(answers))
    plan = unbound(make_recipe, *STOPPABLE, "train.budget=8k tokens", name="stopped")
    directory = train_and_stop(plan, workspace)
    record = read_run(directory)
    assert record.engine and record.engine["micro_batch"] == 512
    write_run(directory, replace(record, engine={**record.engine, "micro_batch": 128}))
    lines: list[str] = []
    resumed = read_run(train(plan, workspace, tell=lines.append))
    assert threads_of(resumed) == torch.get_num_threads() == 1
    assert resumed.engine and resumed.engine["micro_batch"] == 128
    assert not any("threads" in line or "micro_batch" in line for line in lines)
    assert next(answers) == 2  # was not asked for


def test_more_threads_than_cores_are_obeyed_with_a_caution(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    lines: list[str] = []
    count = core_count() + 1
    plan = plan_of(make_recipe, f"train.threads={count}", SHORT)
    assert threads_of(read_run(train(plan, workspace, tell=lines.append))) == count
    assert any(line.startswith(f"caution: {count} threads") for line in lines)


def test_no_number_of_threads_is_refused(make_recipe: MakeRecipe) -> None:
    with pytest.raises(UserError, match="threads"):
        make_recipe("train.threads=0")
