import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import tongues
from tests.command import run_command
from tests.conftest import MakeRecipe, with_tokens
from tests.golden import cases, golden
from tongues.check import check_recipe
from tongues.errors import UserError
from tongues.recipe import Recipe
from tongues.runs import FAILURE, find_runs, read_run, run_rows
from tongues.study import State, plan_runs, run_all

STUDY = (
    "model={}",
    "train.mixture={}",
    "train.budget=4k tokens",
    "train.num_evals=1",
    "study={source: qaa, targets: [qab], shapes: [0.1M], replay: [0%, 25%]}",
)


@pytest.fixture
def study(make_recipe: MakeRecipe) -> Recipe:
    return make_recipe(*STUDY)


@pytest.fixture(scope="module")
def whole(
    make_recipe: MakeRecipe, tokens: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[State]]:
    """A workspace in which the study is trained, and what was seen of its state."""
    place, states = with_tokens(tmp_path_factory.mktemp("study"), tokens), list[State]()
    run_all(plan_runs(make_recipe(*STUDY)), place, watch=states.append)
    return place, states


def test_the_grid_holds_every_combination_with_parents_first(make_recipe: MakeRecipe) -> None:
    recipe = make_recipe(
        *STUDY,
        "study.shapes=[0.1M, 0.2M]",
        "study.seeds=[1, 2]",
        "study.source_budgets=[9k tokens]",
    )
    plans = plan_runs(recipe)
    names = [plan.name for plan in plans]
    assert len(set(names)) == 2 * 2 * (1 + 1 + 2)
    for plan in plans:
        assert (plan.base is None) == (plan.strategy != "cpt")
        if plan.base:
            assert names.index(plan.base) < names.index(plan.name)
            parent = plans[names.index(plan.base)]
            assert (parent.shape, parent.settings.seed) == (plan.shape, plan.settings.seed)
        tokens = plan.settings.budget.tokens(1, 1.0)
        assert tokens == (9000 if plan.strategy == "source" else 4000)
    replay = next(plan for plan in plans if plan.roles.replay_share)
    assert replay.shares == {"qab": 0.75, "qaa": 0.25}


def test_a_study_trains_all_its_runs_and_is_then_left_alone(
    study: Recipe, whole: tuple[Path, list[State]]
) -> None:
    workspace, states = whole
    assert states[-1].finished == states[-1].runs == 4
    assert states[-1].share == pytest.approx(1)
    runs = find_runs([workspace / "runs"])
    assert {read_run(run).strategy for run in runs} == {"source", "scratch", "cpt"}
    rows = run_rows([workspace / "runs"])
    assert {row["replay"] for row in rows} == {0.0, 0.25}
    before = {run: (run / "run.json").stat().st_mtime_ns for run in runs}
    run_all(plan_runs(study), workspace)
    assert {run: (run / "run.json").stat().st_mtime_ns for run in runs} == before
    for plan, derived in check_recipe(study, workspace).runs:
        record = read_run(workspace / "runs" / plan.name)
        assert record.params == derived.parameters
        assert (record.steps, record.flops) == (derived.steps, derived.flops)


def test_a_changed_recipe_is_refused_once_before_anything_starts(
    whole: tuple[Path, list[State]], make_recipe: MakeRecipe, recipe_file: Path, tmp_path: Path
) -> None:
    workspace = shutil.copytree(whole[0], tmp_path / "copy", symlinks=True)
    assert tongues.dry_run(recipe_file, STUDY, workspace).cost.runs == 0
    records = {run: (run / "run.json").read_text() for run in find_runs([workspace / "runs"])}
    changed = [*STUDY, "train.learning_rate=5.0e-3"]
    other, told = plan_runs(make_recipe(*changed)), list[str]()
    with pytest.raises(UserError, match="3 more: learning_rate was") as caught:
        run_all(other, workspace, tell=told.append)
    assert (caught.value.exit_code, told) == (2, [])
    assert "--overwrite" in caught.value.hint
    for verb in (tongues.dry_run, tongues.study):
        with pytest.raises(UserError, match=r"learning_rate was 0\.003, now 0\.005"):
            verb(recipe_file, changed, workspace)
    again = tongues.dry_run(recipe_file, changed, workspace, overwrite=True)
    assert again.cost.runs == 4 and {row["takes"] for row in again.rows()} != {"finished"}
    assert records == {run: (run / "run.json").read_text() for run in records}
    assert not list(workspace.glob(f"runs/*/*/{FAILURE}"))
    run_all(other, workspace, overwrite=True)
    assert {read_run(run).learning_rate for run in records} == {5.0e-3}


def started(recipe_file: Path, workspace: Path) -> tuple[list[str], subprocess.Popen[bytes]]:
    """The words of a study, and its process, which has begun to train."""
    words = ["study", str(recipe_file), *STUDY, "train.budget=60k tokens", "study.replay=[0%]"]
    words += ["--workspace", str(workspace)]
    command = [sys.executable, "-m", "tongues", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 300
    while not list(workspace.glob("runs/*/*/timing.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.05)
    return words, process


@pytest.mark.long
def test_a_stopped_study_goes_on(recipe_file: Path, workspace: Path) -> None:
    words, process = started(recipe_file, workspace)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told.decode()
    assert b"Traceback" not in told
    assert list(workspace.glob("runs/*/*/checkpoints/step-*"))
    assert run_command(words).returncode == 0
    assert all(read_run(run).status == "finished" for run in find_runs([workspace / "runs"]))


@pytest.mark.parametrize("override", cases("refused-studies"))
def test_a_mistake_across_the_recipe_is_found_before_work(
    make_recipe: MakeRecipe, tmp_path: Path, override: str
) -> None:
    with pytest.raises(UserError) as caught:
        check_recipe(make_recipe(*STUDY, override), tmp_path)
    golden(f"refused-studies/{override}", str(caught.value))


def alive(group: int) -> int:
    """Processes of a group that have not ended."""
    states = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
            states.append((int(of), state))
    return sum(of == group and state != "Z" for of, state in states)


@pytest.mark.long
def test_a_killed_study_leaves_no_orphan_and_goes_on(recipe_file: Path, workspace: Path) -> None:
    words, process = started(recipe_file, workspace)
    assert alive(process.pid) > 1
    process.kill()
    process.wait()
    deadline = time.monotonic() + 300
    while alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive(process.pid) == 0
    done = run_command(words)
    assert done.returncode == 0, done.stderr
    assert all(read_run(run).status == "finished" for run in find_runs([workspace / "runs"]))
