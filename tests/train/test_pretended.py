"""Whole runs on a pretended GPU: nothing is computed across devices, and products in bfloat16."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from tests.conftest import MakeRecipe
from tests.models.families import GROUPED, WIDTHS, save_tiny, tiny
from tests.models.shortened import shortened
from tests.pretended import PretendedGpu, pretended_gpu
from tongues.errors import Stopped
from tongues.files import read_lines
from tongues.runs import Run, read_run
from tongues.train import RunPlan, initialize, loop, run, run_of_recipe
from tongues.train.engine import scorer
from tongues.train.run import train

PIECES, NEW = 400, 60
SHORT = ("train.budget=3k tokens", "train.compile=off", "train.num_evals=1")
SHORT += ("train.eval_languages=[qaa]", "train.eval_tokens=640 tokens")
NARROW = (*SHORT, "train.precision=bfloat16")
PRODUCTS = ("mm", "bmm", "addmm", "_grouped_mm", "_scaled_dot_product_flash_attention_for_cpu")
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[PretendedGpu]:
    """Counts what is computed once the model is fitted and its trials are over."""
    train_steps = run.train_steps

    def steps(*args: Any) -> Any:
        gpu.operations.clear()
        return train_steps(*args)

    monkeypatch.setattr(run, "train_steps", steps)
    with pretended_gpu() as gpu:
        yield gpu
    assert gpu.refused == []


def base_of(workspace: Path, family: str, new: int = 0) -> Path:
    """A tiny base; `new` tokens of the workspace's tokenizer are not in its own."""
    own, shorter = workspace / "tokens/small/tokenizer.json", workspace / "shorter.json"
    shortened(own, new, shorter)
    if family != "qwen3_moe":
        return save_tiny(tiny(family, PIECES - new), workspace / "base", shorter)
    config = AutoConfig.for_model(family, vocab_size=PIECES, **WIDTHS, **GROUPED, **EXPERTS)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return save_tiny(AutoModelForCausalLM.from_config(config), workspace / "base", shorter)


def plan_of(make_recipe: MakeRecipe, *overrides: str) -> RunPlan:
    return replace(run_of_recipe(make_recipe(*overrides)), name="small")


def child_of(make_recipe: MakeRecipe, base: Path, *overrides: str) -> RunPlan:
    known = f"train.base={{model: {base}, languages: [qab]}}"
    return plan_of(make_recipe, "model.shape=null", known, *NARROW, *overrides)


def run_there(plan: RunPlan, workspace: Path) -> Run:
    """The record of a run on the GPU, whose loss went down."""
    directory = train(plan, workspace)
    first, *_, last = (
        row["loss"] for row in read_lines(directory / "evals.jsonl") if row["lang"] == "qaa"
    )
    assert last < first
    record = read_run(directory)
    assert record.engine and record.engine["device"] == "cuda:0"
    return record


def narrow(gpu: PretendedGpu) -> bool:
    """Whether every product on the GPU was of matrices in bfloat16."""
    dtypes = {dtype for name in PRODUCTS for given in gpu.dtypes(name) for dtype in given}
    return {dtype for dtype in dtypes if dtype.is_floating_point} == {torch.bfloat16}


def test_random_weights_are_trained_in_float32_as_on_a_processor(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    plan = plan_of(make_recipe, *SHORT, "train.precision=float32")
    with pretended_gpu() as gpu:
        there = train(replace(plan, name="there"), workspace)
    assert gpu.refused == []
    assert not narrow(gpu)
    found, expected = (
        [row["loss"] for row in read_lines(place / "metrics.jsonl")]
        for place in (there, train(plan, workspace))
    )
    assert found == pytest.approx(expected, rel=1e-5)


def test_a_run_is_stopped_with_a_checkpoint_and_resumed(
    make_recipe: MakeRecipe, workspace: Path, gpu: PretendedGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    update, done = loop.update, count()

    def interrupted(setup: Any, rate: float) -> None:
        if next(done) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        update(setup, rate)

    plan = plan_of(make_recipe, *NARROW)
    with monkeypatch.context() as once, pytest.raises(Stopped, match="stopped at step 3 of 6"):
        once.setattr(loop, "update", interrupted)
        train(plan, workspace)
    told = list[str]()
    train(plan, workspace, tell=told.append)
    assert "small resumes from step 3 of 6" in told
    assert narrow(gpu)


def test_a_base_learns_new_tokens_while_its_language_is_kept(
    make_recipe: MakeRecipe, workspace: Path, gpu: PretendedGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(initialize, "probe_size", lambda *given: (1, 512, 64))
    base = base_of(workspace, "llama", NEW)
    kept = ("train.replay={qab: 25%}", "train.max_forgetting={qab: 1%}")
    kept += ("train.eval_languages=[qaa, qab]",)
    record = run_there(child_of(make_recipe, base, *kept), workspace)
    assert narrow(gpu)
    assert record.vocabulary_extension and record.vocabulary_extension.get("probe")


@pytest.mark.parametrize(
    ("family", "overrides"),
    [
        ("llama", ["train.trainable={lora: {rank: 4}}", "train.micro_batch=256 tokens"]),
        ("llama-tied", ["train.offload=true", "train.recompute=true"]),
        ("gemma2", ["train.optimizer=muon"]),
    ],
    ids=["lora", "offloaded", "muon"],
)
def test_ways_of_training(
    make_recipe: MakeRecipe,
    workspace: Path,
    gpu: PretendedGpu,
    family: str,
    overrides: list[str],
) -> None:
    apart = "train.cross_document_attention=false"
    run_there(child_of(make_recipe, base_of(workspace, family), apart, *overrides), workspace)
    assert narrow(gpu)


def test_experts_are_multiplied_in_bfloat16(
    make_recipe: MakeRecipe, workspace: Path, gpu: PretendedGpu
) -> None:
    base = base_of(workspace, "qwen3_moe")
    run_there(child_of(make_recipe, base), workspace)
    assert gpu.dtypes("_grouped_mm") == {(torch.bfloat16, torch.bfloat16, torch.int32)}
    assert narrow(gpu)


def test_positions_left_on_the_processor_are_refused(
    make_recipe: MakeRecipe, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    positions = scorer.positions
    monkeypatch.setattr(scorer, "positions", lambda *given: positions(*given).cpu())
    plan = child_of(
        make_recipe, base_of(workspace, "llama"), "train.cross_document_attention=false"
    )
    with pretended_gpu() as gpu, pytest.raises(RuntimeError, match="on the same device"):
        train(plan, workspace)
    assert gpu.refused
