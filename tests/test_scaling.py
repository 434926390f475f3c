"""The page on many GPUs: its table follows from the rules, and its files can be read."""

import re
import subprocess
from pathlib import Path

import yaml

from tongues.hardware import USUAL_MFU, Cluster, find_gpu
from tongues.recipe import Train
from tongues.train.rules import least_bytes

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
        needed = least_bytes(N, cluster.count)
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
