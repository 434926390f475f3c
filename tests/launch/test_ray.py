"""A study on a Ray cluster of several nodes, one of which is lost."""

import importlib
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MakeRecipe
from tongues.core.errors import Stopped, UserError
from tongues.core.launch import open_launcher
from tongues.runs.states import states
from tongues.train import RunPlan
from tongues.train.study import State, plan_runs, run_all
from tongues.train.work import open_work

ray: Any = pytest.importorskip("ray", reason="Ray is not installed: pip install 'tongues[cluster]'")

launcher: Any = importlib.import_module("tongues.core.launch.ray")

STUDY = (
    "model={}",
    "train.mixture={}",
    "train.threads=1",
    "train.budget=80k tokens",  # some seconds: a look twice a second meets a checkpoint
    "train.checkpoint_every=0.2 seconds",
    "study={source: qaa, targets: [qab], shapes: [0.1M], replay: [0%, 25%]}",
)
SAME = ("model/model.safetensors", "metrics.jsonl", "evals.jsonl")


@pytest.fixture
def plans(make_recipe: MakeRecipe) -> list[RunPlan]:
    return plan_runs(open_work(make_recipe(*STUDY)))


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[Any]]:
    """A cluster: a head that trains nothing, and three nodes of a core each."""
    cluster = importlib.import_module("ray.cluster_utils").Cluster(
        initialize_head=True, connect=True, head_node_args={"num_cpus": 0}
    )
    yield [cluster.add_node(num_cpus=1) for _ in range(3)]
    ray.shutdown()
    cluster.shutdown()


def below(process: int) -> list[int]:
    """A process and all that it started, itself or through others."""
    listed = Path(f"/proc/{process}/task/{process}/children")
    children = [int(number) for number in listed.read_text().split()] if listed.exists() else []
    return [process, *(number for child in children for number in below(child))]


def processes(node: Any) -> list[int]:
    """All of a node."""
    started = [each.process.pid for kind in node.all_processes.values() for each in kind]
    return [number for process in started for number in below(process)]


def lose(node: Any) -> None:
    """As if the machine went off: no process of it is left, and none says goodbye."""
    for process in processes(node):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def command(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text()
    return ""


def checkpoints(workspace: Path) -> list[Path]:
    return list(workspace.glob("runs/*/*/checkpoints/step-*"))


def bytes_of(workspace: Path, plans: list[RunPlan]) -> dict[str, bytes]:
    return {
        f"{plan.name}/{name}": (workspace / "runs" / plan.name / name).read_bytes()
        for plan in plans
        for name in SAME
    }


@pytest.mark.parametrize(
    ("there", "workers", "processes", "share"),
    [
        (0, 1, 2, 0),
        (4, 1, 0, 0),
        (4, 1, 2, 2),
        (4, 3, 2, 2),
        (4, 3, 1, 1),
        (2, 3, 1, 0.6666),
        (1, 30_000, 1, 1e-4),
    ],
)
def test_gpus_are_asked_for_as_ray_takes_them(
    there: float, workers: int, processes: int, share: float
) -> None:
    assert launcher._gpu_share(there, workers, processes) == share


def test_one_machine_has_room_for_all_of_a_run() -> None:
    head, cores, gpus = {"CPU": 1.0}, {"CPU": 8.0, "memory": 2.0}, {"CPU": 2.0, "GPU": 1.0}
    assert launcher._roomiest([head, cores, gpus], 4.0, 0, 1.0) == cores
    assert launcher._roomiest([head, cores, gpus], 4.0, 1, 1.0) == gpus
    with pytest.raises(UserError, match="no machine of the Ray cluster has 2 GPUs"):
        launcher._roomiest([head, cores, gpus], 4.0, 2, 1.0)


@pytest.mark.long
def test_a_lost_node_changes_no_byte(
    plans: list[RunPlan], workspace: Path, tmp_path_factory: pytest.TempPathFactory, nodes: Any
) -> None:
    undisturbed = tmp_path_factory.mktemp("undisturbed")
    (undisturbed / "tokens").symlink_to(workspace / "tokens", target_is_directory=True)
    run_all(plans, undisturbed)
    lost: list[str] = []

    def watch(state: State) -> None:
        if not lost and len(state.running) == 2 and checkpoints(workspace):
            lost.extend(state.running)
            lose(nodes[1])

    run_all(plans, workspace, launcher=open_launcher("ray"), watch=watch)
    assert lost
    assert bytes_of(workspace, plans) == bytes_of(undisturbed, plans)


@pytest.mark.long
def test_a_killed_run_fails_with_its_reason_and_the_rest_goes_on(
    plans: list[RunPlan], workspace: Path, nodes: Any
) -> None:
    plans = [plan for plan in plans if plan.strategy != "cpt"]
    killed: list[int] = []

    def watch(state: State) -> None:
        servers = {n for node in nodes for n in processes(node) if "forkserver" in command(n)}
        runs = [run for server in servers for run in below(server)[1:]]
        if len(state.running) == 2 and runs and not killed:
            killed.append(runs[0])
            os.kill(runs[0], signal.SIGKILL)

    with pytest.raises(UserError, match=r"1 of 2 runs failed.*killed by signal 9") as caught:
        run_all(plans, workspace, launcher=open_launcher("ray"), watch=watch)
    stands = {state.run: state.state for state in states([workspace / "runs"])}
    assert stands.pop(caught.value.where) == "failed"
    assert set(stands.values()) == {"finished"}


@pytest.mark.long
def test_a_stopped_study_leaves_checkpoints_and_goes_on_here(
    plans: list[RunPlan], workspace: Path, nodes: Any
) -> None:
    plans = plans[:1]

    def watch(state: State) -> None:
        if checkpoints(workspace):
            raise KeyboardInterrupt

    with pytest.raises(Stopped):
        run_all(plans, workspace, launcher=open_launcher("ray"), watch=watch)
    (stopped,) = states([workspace / "runs"])
    assert stopped.state == "stopped"
    assert checkpoints(workspace)
    run_all(plans, workspace)
    (finished,) = states([workspace / "runs"])
    assert finished.state == "finished"
