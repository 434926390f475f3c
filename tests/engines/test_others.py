"""LLaMA-Factory, axolotl, torchtitan and NeMo AutoModel read what they are handed."""

import ast
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

from tests.engines.handed import CONTEXT, Handed
from tests.engines.packages import ROOT, environment
from tests.golden import inputs
from tongues.core.files import read_lines
from tongues.runs.record import read_run
from tongues.text.tokens import open_tokens
from tongues.use.imports.log import read_log

pytestmark = pytest.mark.slow
SCRIPT = ROOT / "benchmarks/gpu/automodel.py"
QUIET = {"AXOLOTL_DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "2"}
QUIET |= {"MASTER_ADDR": "localhost", "MASTER_PORT": "29533"}
QUIET |= {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "NUM_NODES": "1"}
QUIET |= {"LOCAL_WORLD_SIZE": "1"}

# Opens the settings by AutoModel's own loader, and 1,000 samples by its own reader.
READ: str = inputs("programs")["READ"]


def run(folder: Path, *words: str) -> str:
    """Run a program of an engine in a folder; what it prints."""
    done = subprocess.run(
        words, cwd=folder, env=os.environ | QUIET, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def history(folder: Path) -> list[dict[str, Any]]:
    """The log of a run in the folder's `out`, of its last step."""
    states = [*folder.glob("out/trainer_state.json"), *folder.glob("out/*/trainer_state.json")]
    read = [json.loads(state.read_text()) for state in states]
    return max(read, key=lambda state: state["global_step"])["log_history"]


def our_first_loss(handed: Handed) -> float:
    """Of our own run from the same base."""
    return read_lines(handed.train() / "metrics.jsonl")[0]["loss"]


def test_llamafactory_trains_and_comes_back(handed: Handed) -> None:
    folder, programs = handed.over("llamafactory"), environment("llamafactory")
    start = ["train", "config.yaml", "bf16=false", "use_cpu=true", "max_steps=20"]
    run(folder, str(programs / "llamafactory-cli"), *start)
    first = next(row["loss"] for row in history(folder) if "loss" in row)
    # It divides by all tokens of a sample, of which the first is not predicted.
    assert first * (CONTEXT + 1) / CONTEXT == pytest.approx(our_first_loss(handed), abs=1e-4)
    losses = read_lines(handed.bring("llamafactory") / "evals.jsonl")
    assert {row["lang"] for row in losses} == {"qaa", "qab"} and losses[-1]["step"] == 20


def test_axolotl_trains_and_comes_back(handed: Handed) -> None:
    folder, programs = handed.over("axolotl"), environment("axolotl")
    start = ["-m", "axolotl.cli.train", "config.yaml", "--max-steps=20"]
    run(folder, str(programs / "python"), *start)
    first = next(row["loss"] for row in history(folder) if "loss" in row)
    assert first == pytest.approx(our_first_loss(handed), abs=1e-4)
    back = handed.bring("axolotl")  # without its one loss of both languages
    assert len(read_lines(back / "metrics.jsonl")) == 20
    assert not (back / "evals.jsonl").exists()


# torchtitan asks for an accelerator alone; of PyTorch's nightlies it needs `set_timeout`.
ON_A_PROCESSOR: str = inputs("programs")["ON_A_PROCESSOR"]


def test_torchtitan_trains_as_we_do_and_comes_back(handed: Handed) -> None:
    folder, programs = handed.over("torchtitan"), environment("torchtitan")
    start = ["--module=settings", "--config=recipe", "--training.mixed_precision_param=float32"]
    start += ["--training.steps=20", "--lr_scheduler.total_steps=39"]
    start += ["--training.disable_cuda_graphs"]
    run(folder, str(programs / "python"), "-c", ON_A_PROCESSOR, *start)
    model = folder / "out/checkpoint/step-20"
    for file in (folder / "base").glob("*.json"):  # as its README says
        shutil.copy(file, model)
    back = read_lines(handed.bring("torchtitan", model=model) / "metrics.jsonl")
    ours = read_lines(handed.train() / "metrics.jsonl")[:20]
    assert [row["learning_rate"] for row in back[:3]] == [row["learning_rate"] for row in ours[:3]]
    theirs, ours = ([row["loss"] for row in rows] for rows in (back, ours))
    assert theirs[:3] == pytest.approx(ours[:3], abs=1e-5)
    assert theirs == pytest.approx(ours, abs=0.01)  # its cosine ends a step later
    rows = datasets.load_from_disk(str(folder / "data/train"))[20 * 8 : 21 * 8]["input_ids"]
    trained = AutoModelForCausalLM.from_pretrained(model)
    loss = trained(torch.tensor(rows), labels=torch.tensor(rows)).loss.item()
    assert loss == pytest.approx(read_lines(handed.train() / "metrics.jsonl")[20]["loss"], abs=0.01)


def test_automodel_reads_our_shards_in_the_planned_shares(handed: Handed) -> None:
    folder, programs = handed.over("automodel"), environment("automodel")
    run(folder, str(programs / "python"), "-c", READ)
    tokens = open_tokens(handed.workspace / "tokens/small")
    rows = json.loads((folder / "read").read_text())
    assert np.mean([number == 0 for number, _ in rows]) == pytest.approx(0.9, abs=0.005)
    ours = [np.asarray(tokens.train(lang)).astype("<i8").tobytes() for lang in ("qab", "qaa")]
    for number, ids in rows:  # it shuffles documents: to the first end a sample is one of ours
        until = ids.index(tokens.frame.end) + 1 if tokens.frame.end in ids else len(ids)
        assert np.array(ids[:until], "<i8").tobytes() in ours[number]


def names_of(folder: Path) -> set[str]:
    """What the sources of a package define, import or have as a field, by name."""
    found = set[str]()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
    return found


def test_megatron_bridge_has_what_its_script_names(handed: Handed) -> None:
    """It can't be imported without a GPU, so its sources are read."""
    tree = ast.parse((handed.over("megatron-bridge") / "train.py").read_text())
    (site,) = environment("megatron-bridge").parent.glob("lib/python3*/site-packages")
    known = names_of(site / "megatron/bridge") | names_of(site / "megatron/core")
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    for node in imports:
        place = site / (node.module or "").replace(".", "/")
        assert place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()
    imported = {name.name for node in imports for name in node.names}
    assert imported < known and len(imported) == 11
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    ours = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id in imported]
    given = {word.arg for node in ours for word in node.keywords}
    assert given <= known and len(given) > 30


def test_automodel_trains_and_comes_back(handed: Handed) -> None:
    folder, programs = handed.over("automodel"), environment("automodel")
    run(folder, str(programs / "python"), str(SCRIPT), "--step_scheduler.max_steps=20")
    logged = [json.loads(line) for line in (folder / "out/training.jsonl").open()]
    back = handed.bring("automodel")
    losses = {row["step"]: row["loss"] for row in read_lines(back / "metrics.jsonl")}
    assert losses == {row["step"] + 1: row["loss"] for row in logged} and len(losses) == 20
    first = torch.load(folder / "first.pt")
    base = AutoModelForCausalLM.from_pretrained(folder / "base")
    ours = cross_entropy(base(first["input_ids"]).logits.mT, first["labels"]).item()
    assert losses[1] == pytest.approx(ours, abs=1e-5)
    record = read_run(back)
    assert (record.steps, record.batch) == (20, 512) and (record.seconds or 0) > 0
    held_out = read_lines(back / "evals.jsonl")
    assert [(row["step"], row["lang"]) for row in held_out[-2:]] == [(20, "qaa"), (20, "qab")]
    AutoModelForCausalLM.from_pretrained(back / "model")


OLMO: str = inputs("programs")["OLMO"]


def test_what_olmo_core_logs_while_it_trains_comes_in_to_the_digit(tmp_path: Path) -> None:
    said = run(tmp_path, str(environment("olmo-core") / "python"), "-c", OLMO)
    told = [json.loads(line[5:]) for line in said.splitlines() if line.startswith("told ")]
    told = {step: row for step, loss, row in told if loss is not None}
    log = read_log(tmp_path)
    assert {line.step: line.loss for line in log.losses} == {
        step: row["train/CE loss"] for step, row in told.items()
    }
    assert len(told) == 20
    last = log.losses[-1]
    assert (last.learning_rate, last.norm, last.tokens) == tuple(
        told[20][name]
        for name in ("optim/LR (group 0)", "optim/total grad norm", "throughput/total tokens")
    )
    assert [(loss.step, loss.text) for loss in log.held_out] == [(10, "qab"), (20, "qab")]
