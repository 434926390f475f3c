from importlib import import_module
from pathlib import Path

import pytest

from tests.conftest import MakeRecipe
from tests.golden import inputs
from tongues.plan.check import check_recipe
from tongues.train.study import measure_cost, run_all
from tongues.train.work import open_work


@pytest.fixture(autouse=True)
def short_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a tenth of a second, where users have a whole one."""
    start = import_module("tongues.train.start")
    tried = start.measure_speed
    monkeypatch.setattr(start, "measure_speed", lambda *given, seconds: tried(*given, seconds=0.1))


STUDY: list[str] = inputs("overrides")["study of three sizes"]


def test_what_is_left_to_train_is_reckoned(
    make_recipe: MakeRecipe, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = import_module("tongues.train.start")
    monkeypatch.setattr(start, "measure_speed", lambda *_, seconds: 1e5)  # tokens a second
    pairs = check_recipe(open_work(make_recipe(*STUDY), workspace)).runs
    whole = measure_cost(pairs, workspace, at_once=2)
    assert whole.runs == len(pairs) == 12
    assert whole.flops == sum(derived.flops for _, derived in pairs)
    longest = max(whole.run_seconds.values())
    alone = sum(whole.run_seconds.values())
    assert whole.seconds is not None
    assert 0.999 * max(alone / 2, 2 * longest) <= whole.seconds - 4 <= alone / 2 + 2 * longest
    assert 0.64 < min(whole.run_seconds.values()) < 0.9  # of which 0.6 are around its steps
    small = [pair for pair in pairs if pair[1].anatomy.name == "0.05M"]
    first, *others = [plan for plan, _ in small]
    run_all([first], workspace)
    left = measure_cost(small, workspace, at_once=2)
    assert left.runs == 3
    assert left.run_seconds.keys() == {plan.name for plan in others}


def test_for_a_cluster_or_several_processes_nothing_is_tried_here(
    make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    pairs = check_recipe(
        open_work(make_recipe(*STUDY), tmp_path)
    ).runs  # a trial would need prepared text
    cost = measure_cost(pairs, tmp_path, at_once=2, launcher="slurm")
    assert (cost.runs, cost.seconds, cost.run_seconds) == (12, None, {})
    assert str(cost) == f"12 runs to train: {cost.flops:.2g} FLOPs"
    assert measure_cost(pairs, tmp_path, at_once=1, processes=2) == cost


def test_the_trials_leave_no_memory_behind(make_recipe: MakeRecipe, workspace: Path) -> None:
    def resident() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

    def measured(shape: str) -> float:
        measure_cost(
            check_recipe(open_work(make_recipe(f"model.shape={shape}"), workspace)).runs,
            workspace,
            1,
        )
        return resident()

    before = measured("0.05M")  # with what is imported once
    assert measured("12M") - before < 60  # the weights, gradients and moments take 200
