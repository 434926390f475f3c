"""This machine as training, `check` and the defaults find it: what PyTorch sees, nothing else."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import yaml

from tests.conftest import MakeRecipe
from tests.golden import inputs
from tests.models.families import save_tiny, tiny
from tests.train.test_defaults import recipe_of
from tongues.core.errors import UserError
from tongues.core.hardware import (
    GPUS,
    USUAL_MFU,
    Cluster,
    Machine,
    VisibleGpu,
    find_gpu,
    host_memory,
    known_gpu,
    this_machine,
    visible_gpus,
)
from tongues.plan import BaseCheckpoint
from tongues.plan.check import check_recipe
from tongues.plan.fits import LEAST_MEMORY, anatomy_of, method_bytes
from tongues.recipe import Train
from tongues.train.work import open_work

A100, SLICE = "NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB MIG 1g.10gb"
See = Callable[..., None]


@pytest.fixture
def see(monkeypatch: pytest.MonkeyPatch) -> See:
    """Has PyTorch see GPUs of these names and bytes."""
    monkeypatch.delenv("WORLD_SIZE", raising=False)

    def stand_in(*gpus: tuple[str, float], bfloat16: bool = True) -> None:
        each = [SimpleNamespace(name=name, total_memory=int(memory)) for name, memory in gpus]
        monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(gpus))
        monkeypatch.setattr(torch.cuda, "device_count", lambda: len(gpus))
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: each[number])
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: bfloat16)

    return stand_in


@pytest.fixture(scope="module")
def base(tokens: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = tiny("qwen2", 400, max_position_embeddings=256)
    return save_tiny(model, tmp_path_factory.mktemp("base") / "base", tokens / "tokenizer.json")


def test_without_gpus_it_is_the_processor_with_all_memory(see: See) -> None:
    see()
    machine = this_machine()
    assert (machine.device, machine.memory, machine.processes) == ("cpu", host_memory(), 1)
    assert visible_gpus() == ()


def test_with_gpus_it_is_the_smallest_a_process_each(
    see: See, monkeypatch: pytest.MonkeyPatch
) -> None:
    see((A100, 85e9), (A100, 84e9))
    monkeypatch.setenv("WORLD_SIZE", "2")
    machine = this_machine()
    assert (machine.device, machine.processes, machine.memory) == ("cuda", 2, 84e9)
    assert machine.gpu == GPUS["a100"]
    assert machine.bfloat16 and not machine.elsewhere
    assert visible_gpus() == (VisibleGpu(A100, 85e9), VisibleGpu(A100, 84e9))
    see((A100, 85e9), ("Tesla V100-SXM2-32GB", 34e9), bfloat16=False)
    machine = this_machine()
    assert machine.gpu is None and not machine.bfloat16


@pytest.mark.parametrize(
    ("answer", "visible"),
    [(None, "0"), ("echo '0, GPU-a, [N/A]'", None), ("echo '0, GPU-b, 1'", "MIG-aaaa")],
)
def test_what_nvidia_smi_says_changes_nothing(
    see: See,
    make_recipe: MakeRecipe,
    base: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: str | None,
    visible: str | None,
) -> None:
    see((SLICE, 10e9))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    if answer is not None:
        (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{answer}\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
    machine = this_machine()
    assert (machine.device, machine.memory, machine.gpu) == ("cuda", 10e9, None)
    assert len(visible_gpus()) == 1
    checked = check_recipe(open_work(make_recipe(), tmp_path))
    assert "of 10 GB on each GPU of this machine" in checked.sentences()["memory"]
    large = recipe_of(base, batch="24576 tokens")
    assert open_work(large, tmp_path).recipe.train.micro_batch is None  # tried at the start
    see()
    assert open_work(large, tmp_path).recipe.train.micro_batch == 2048


def test_a_known_gpu_of_this_machine_has_hours_and_still_the_disk_of_here(
    see: See, make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    see((A100, 85e9), (A100, 85e9))
    checked = check_recipe(open_work(make_recipe(), tmp_path))
    assert "GPU-hours at 40% of the peak" in checked.sentences()["time"]
    study = ("study={source: qaa, targets: [qab], shapes: [0.1M]}", "model={}", "train.mixture={}")
    checked = check_recipe(open_work(make_recipe(*study), tmp_path))
    assert checked.at_once == 2  # a run on each
    monkeypatch.setattr("os.statvfs", lambda path: SimpleNamespace(f_bavail=0, f_frsize=1))
    with pytest.raises(UserError, match="of disk"):
        check_recipe(open_work(make_recipe(), tmp_path))
    assert check_recipe(
        open_work(make_recipe(), tmp_path), machine=Machine.of_gpus(GPUS["a100"], 2)
    ).disk


@pytest.mark.parametrize(
    ("name", "gigabytes", "key"),
    inputs("gpus"),
)
def test_a_gpu_is_known_by_the_name_that_its_driver_gives(
    name: str, gigabytes: float, key: str | None
) -> None:
    assert known_gpu(name, gigabytes * 1e9) == (GPUS[key] if key else None)


CODE: str = inputs("programs")["WHICH_DEVICE"]
TORCH: str = inputs("programs")["TORCH_WITH_H100"]


@pytest.mark.parametrize(
    ("sign", "stand_in", "expected"),
    [
        (False, TORCH, "cpu False"),
        (True, TORCH, "cuda True"),
        (True, "raise OSError('libcudart.so is missing')", "cpu False"),
    ],
)
def test_torch_is_asked_where_there_is_a_sign_of_an_accelerator(
    tmp_path: Path, sign: bool, stand_in: str, expected: str
) -> None:
    (tmp_path / "torch.py").write_text(stand_in)
    (tmp_path / "nvidia0").touch()
    code = CODE.format(signs=(str(tmp_path / "nvidia*"),) if sign else ())
    environment = {"PATH": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected


PAGE = Path(__file__).parents[1] / "docs/how-to/scaling.md"
CONTINUED = 10e9  # tokens
PER_PARAMETER = 20
SIZES = {"M": 1e6, "B": 1e9}


def blocks(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def shown(hours: float) -> str:
    return f"{hours:.1f}" if hours < 10 else f"{hours:,.0f}"


def test_the_table_is_what_the_rules_of_check_and_plan_give() -> None:
    rows = re.findall(r"^\| ([\d.]+[MB]) \| (\d+) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    assert [name for name, _, _ in rows] == ["135M", "1B", "3B", "8B", "14B", "30B", "70B"]
    gpu = find_gpu("h100")
    for name, count, cells in rows:
        N, cluster = (
            float(name[:-1]) * SIZES[name[-1]],
            Cluster(gpu, int(count), USUAL_MFU, gpu.price),
        )
        needed = method_bytes(anatomy_of(BaseCheckpoint(name, N)), LEAST_MEMORY, cluster)
        assert needed < 0.9 * gpu.memory
        hours = [cluster.hours(6 * N * tokens) for tokens in (PER_PARAMETER * N, CONTINUED)]
        expected = [f"{needed / 1e9:.0f} GB", *map(shown, hours)]
        assert cells.split(" | ") == expected, f"{name}: {' | '.join(expected)}"


def test_the_files_for_schedulers_can_be_read_and_name_keys_of_the_recipe() -> None:
    (script,) = blocks("bash")
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    options = " ".join(re.findall(r"^#SBATCH (.*)$", script, re.MULTILINE))
    assert {"--nodes=4", "--ntasks-per-node=1", "--signal=TERM@600"} <= set(options.split())
    sky, kubernetes = blocks("yaml")
    task = yaml.safe_load(sky)
    assert task["num_nodes"] == 4
    service, job = yaml.safe_load_all(kubernetes)
    spec = job["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert spec["subdomain"] == service["metadata"]["name"]
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
    first = f"{job['metadata']['name']}-0.{spec['subdomain']}:29500"
    assert f"--rdzv-endpoint {first}" in container["args"][0]
    assert f"--nnodes {job['spec']['completions']} " in container["args"][0]
    subprocess.run(["bash", "-n"], input=container["args"][0], text=True, check=True)
    assert {x["name"] for x in container["volumeMounts"]} == {x["name"] for x in spec["volumes"]}
    subprocess.run(["bash", "-n"], input=task["run"], text=True, check=True)
    keys = set(re.findall(r"train\.(\w+)=", PAGE.read_text()))
    keys |= set(re.findall(r"^\| `(\w+): ", PAGE.read_text(), re.MULTILINE))
    assert keys == {
        "shards", "micro_batch", "recompute", "optimizer_states", "trainable", "offload",
    }  # fmt: skip
    assert keys <= set(Train.model_fields)
