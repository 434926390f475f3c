import json
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
from tests.golden import cases, golden, inputs
from tongues.core.errors import UserError
from tongues.plan.check import check_recipe
from tongues.recipe import Recipe, load_recipe
from tongues.runs.record import FAILURE, find_runs, read_run, run_rows
from tongues.train import RunPlan
from tongues.train.study import State, plan_runs, run_all
from tongues.train.work import open_work

STUDY: list[str] = inputs("overrides")["study with replay"]


@pytest.fixture
def study(make_recipe: MakeRecipe) -> Recipe:
    return make_recipe(*STUDY)


@pytest.fixture(scope="module")
def whole(
    make_recipe: MakeRecipe, tokens: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[State]]:
    """A workspace in which the study is trained, and what was seen of its state."""
    place, states = with_tokens(tmp_path_factory.mktemp("study"), tokens), list[State]()
    run_all(plan_runs(open_work(make_recipe(*STUDY))), place, watch=states.append)
    return place, states


def test_the_grid_holds_every_combination_with_parents_first(make_recipe: MakeRecipe) -> None:
    lists = ("study.shapes=[0.1M, 0.2M]", "study.seeds=[1, 2]", "study.source_budgets=[9k tokens]")
    plans = plans_of(make_recipe, *STUDY, *lists)
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
    run_all(plan_runs(open_work(study)), workspace)
    assert {run: (run / "run.json").stat().st_mtime_ns for run in runs} == before
    for plan, derived in check_recipe(open_work(study, workspace)).runs:
        record = read_run(workspace / "runs" / plan.name)
        assert record.params == derived.parameters
        assert (record.steps, record.flops) == (derived.steps, derived.flops)


def test_a_changed_recipe_is_refused_once_before_anything_starts(
    whole: tuple[Path, list[State]], make_recipe: MakeRecipe, recipe_file: Path, tmp_path: Path
) -> None:
    workspace = shutil.copytree(whole[0], tmp_path / "copy", symlinks=True)
    records = {run: (run / "run.json").read_text() for run in find_runs([workspace / "runs"])}
    changed = [*STUDY, "train.learning_rate=5.0e-3"]
    other, told = plan_runs(open_work(make_recipe(*changed))), list[str]()
    with pytest.raises(UserError, match="3 more: learning_rate was") as caught:
        run_all(other, workspace, tell=told.append)
    assert (caught.value.exit_code, told) == (2, [])
    assert "--overwrite" in caught.value.hint
    with pytest.raises(UserError, match=r"learning_rate was 0\.003, now 0\.005"):
        tongues.study(recipe_file, changed, workspace)
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
    recipe_file: Path, tmp_path: Path, override: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(UserError) as caught:
        check_recipe(open_work(load_recipe(recipe_file, [*STUDY, override]), tmp_path))
    told = str(caught.value).replace(str(recipe_file.parent), "FOLDER")
    golden(f"refused-studies/{override}", told)


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


GRID = (
    "model={}",
    "train.mixture={}",
    "train.budget=4k tokens",
    "study={source: qaa, targets: [qab], shapes: [0.1M, 0.2M], replay: [0%, 25%]}",
)
ALSO = (
    "study.also=[{shapes: [0.2M], replay: [5%], budgets: [20 tokens per parameter, 2.5k tokens]}]"
)


def plans_of(make_recipe: MakeRecipe, *overrides: str) -> list[RunPlan]:
    return plan_runs(open_work(make_recipe(*overrides)))


def names(*plans: RunPlan) -> list[str]:
    return [plan.name.rpartition("/")[2] for plan in plans]


def test_a_further_grid_differs_in_the_keys_it_gives(make_recipe: MakeRecipe) -> None:
    plain, more = plans_of(make_recipe, *GRID), plans_of(make_recipe, *GRID, ALSO)
    assert more[: len(plain)] == plain
    assert names(*more[len(plain) :]) == [
        "qab-scratch-0.2M-20tpp-s1",
        "qab-cpt-replay5-0.2M-20tpp-s1",
        "qab-scratch-0.2M-2500tokens-s1",
        "qab-cpt-replay5-0.2M-2500tokens-s1",
    ]
    assert {plan.base for plan in more[len(plain) :]} == {None, "small/qaa-source-0.2M-s1"}
    assert str(more[-1].settings.budget) == "2500 tokens"


def test_runs_continue_from_bases_of_every_budget(make_recipe: MakeRecipe) -> None:
    budgets = "study.source_budgets=[8k tokens, 100 tokens per parameter]"
    plans = plans_of(make_recipe, *GRID, budgets, "study.shapes=[0.1M]")
    continued = {plan.name: plan.base for plan in plans if plan.base}
    assert continued == {
        f"small/qab-cpt{replay}-0.1M{origin}-s1": f"small/qaa-source-0.1M{base}-s1"
        for replay in ("", "-replay25")
        for origin, base in (("", ""), ("-from100tpp", "-100tpp"))
    }
    assert sum(plan.strategy == "scratch" for plan in plans) == 1


def test_a_study_grows_without_renaming_what_is_there(make_recipe: MakeRecipe) -> None:
    before = {plan.name: plan for plan in plans_of(make_recipe, *GRID)}
    grown = plans_of(
        make_recipe,
        *GRID,
        "study.seeds=[2, 1]",
        "study.budgets=[1k tokens, 4k tokens]",
        "study.source_budgets=[4k tokens, 9k tokens]",
        "study.shapes=[0.05M, 0.1M, 0.2M]",
        "study.replay=[50%, 0%, 25%]",
    )
    after = {plan.name: plan for plan in grown}
    assert before.items() <= after.items()
    assert len(after) == len({json.dumps(plan.identity()) for plan in after.values()})


def test_a_plan_survives_being_written_down(make_recipe: MakeRecipe) -> None:
    own = ("train.batch=by size", "train.learning_rate={0.1M: 0.01}")
    for plan in plans_of(make_recipe, *GRID, ALSO, *own):
        assert RunPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


MIXTURES = ("model={}", "train.mixture={}", "train.budget=4k tokens")


def test_a_study_of_mixtures_begins_with_equal_content(make_recipe: MakeRecipe) -> None:
    study = "study={targets: [qaa, qab], shapes: [0.1M], mixtures: 9}"
    plans = plans_of(make_recipe, *MIXTURES, study)
    assert names(*plans[:2]) == ["mixture000-0.1M-s1", "mixture001-0.1M-s1"]
    assert plans[0].shares == {"qaa": 0.5, "qab": 0.5}
    assert len({tuple(plan.shares.items()) for plan in plans}) == len(plans) == 9
    assert all(sum(plan.shares.values()) == pytest.approx(1) for plan in plans)
    assert {plan.strategy for plan in plans} == {"scratch"}
    assert all(plan.settings.eval_languages == ["qaa", "qab"] for plan in plans)
    more = plans_of(make_recipe, *MIXTURES, study, "study.seeds=[1, 2]")
    assert names(*more)[:9] == names(*plans)


@pytest.mark.parametrize("study", cases("refused-study-mixtures"))
def test_wrong_studies_of_mixtures(make_recipe: MakeRecipe, study: str) -> None:
    with pytest.raises(UserError) as caught:
        plans_of(make_recipe, *MIXTURES, f"study={study}")
    golden(f"refused-study-mixtures/{study}", str(caught.value))
