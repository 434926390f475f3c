"""Bases, plans and runs for the tests of training."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import AutoConfig, AutoModelForCausalLM

from tests.conftest import MakeRecipe
from tests.models.families import GROUPED, WIDTHS, save_tiny, tiny
from tests.models.shortened import shortened
from tongues.core.errors import Stopped
from tongues.core.files import read_lines
from tongues.text.tokens import open_tokens
from tongues.train import RunPlan, run_of_recipe
from tongues.train.run import train
from tongues.train.work import open_work

PIECES, NEW = 400, 60  # of the small recipe's tokenizer, and of those how many a base may lack
STOPPABLE = ("train.budget=12k tokens", "train.checkpoint_every=0.001 seconds")
SAME = ("metrics.jsonl", "evals.jsonl", "model/model.safetensors")
ROUTED: dict[str, Any] = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
EXPERTS: dict[str, dict[str, Any]] = {
    "qwen2_moe": {"shared_expert_intermediate_size": 32, "num_key_value_heads": 2},
    "qwen3_moe": GROUPED,
}


def base_of(workspace: Path, family: str, new: int = 0, rows: int | None = None) -> Path:
    """A tiny base; `new` tokens of the workspace's tokenizer are not in its own."""
    shorter, rows = workspace / "shorter.json", PIECES - new if rows is None else rows
    shortened(workspace / "tokens/small/tokenizer.json", new, shorter)
    if family not in EXPERTS:
        return save_tiny(tiny(family, rows), workspace / "base", shorter)
    settings = WIDTHS | ROUTED | EXPERTS[family]
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = AutoModelForCausalLM.from_config(
            AutoConfig.for_model(family, vocab_size=rows, **settings)
        )
    return save_tiny(model, workspace / "base", shorter)


def plan_of(make_recipe: MakeRecipe, *overrides: str, name: str = "small") -> RunPlan:
    """The small recipe's run, with overrides."""
    return replace(run_of_recipe(open_work(make_recipe(*overrides))), name=name)


def child_of(
    make_recipe: MakeRecipe,
    base: Path | str,
    *overrides: str,
    name: str = "child",
    knows: str = "qac",
) -> RunPlan:
    """A run that continues a base, which knows by default none of what the run learns."""
    known = f"train.base={{model: {base}, languages: [{knows}]}}"
    return plan_of(make_recipe, "model.shape=null", known, *overrides, name=name)


def train_and_stop(
    plan: RunPlan, workspace: Path, tell: Callable[[str], None] = lambda line: None
) -> Path:
    """Train, and ask the run to stop as Ctrl-C does once two checkpoints lie there."""
    directory = workspace / "runs" / plan.name

    def interrupt() -> None:
        while len(list(directory.glob("checkpoints/step-*"))) < 2:
            time.sleep(0.004)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(Stopped):
        train(plan, workspace, tell=tell)
    return directory


def start_two(recipe_file: Path, workspace: Path, *overrides: str) -> "subprocess.Popen[bytes]":
    """Start the small recipe's run in two processes."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", "-m", "tongues"]
    command += ["train", str(recipe_file), *overrides, "--workspace", str(workspace)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def digests(directory: Path) -> dict[str, str]:
    """Of what a run leaves, that any two runs of one plan must share."""
    return {name: hashlib.sha256((directory / name).read_bytes()).hexdigest() for name in SAME}


def losses(directory: Path, lang: str | None = None, log: str = "evals.jsonl") -> list[float]:
    """Of a run, on held-out text of a language, or of all that were evaluated."""
    return [row["loss"] for row in read_lines(directory / log) if lang in (None, row.get("lang"))]


def held_out_nats(model: nn.Module, workspace: Path, lang: str = "qab") -> tuple[Tensor, Tensor]:
    """Of each token of held-out text by the model alone, and the tokens."""
    text = torch.from_numpy(open_tokens(workspace / "tokens/small").valid(lang).astype("int64"))
    count = (len(text) - 1) // 64
    tokens, wanted = text[: 64 * count].view(-1, 64), text[1 : 64 * count + 1]
    with torch.no_grad():
        logits = model(input_ids=tokens).logits.flatten(0, 1)
    return cross_entropy(logits, wanted, reduction="none"), wanted
