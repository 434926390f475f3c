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

from tests.conftest import MakeRecipe
from tests.pretended import PretendedGpu, pretended_gpu
from tests.train.making import NEW, base_of, child_of, losses, plan_of
from tongues.core.errors import Stopped
from tongues.core.files import read_lines
from tongues.core.hardware import GPUS
from tongues.runs.record import Run, read_run
from tongues.train import RunPlan, initialize, loop, run
from tongues.train.engine import scorer
from tongues.train.run import train

SHORT = ("train.budget=3k tokens", "train.compile=off", "train.num_evals=1")
SHORT += ("train.eval_languages=[qaa]", "train.eval_tokens=640 tokens")
NARROW = (*SHORT, "train.precision=bfloat16")
PRODUCTS = ("mm", "bmm", "addmm", "_grouped_mm", "_scaled_dot_product_flash_attention_for_cpu")


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


def narrow_child(make_recipe: MakeRecipe, base: Path, *overrides: str) -> RunPlan:
    return child_of(make_recipe, base, *NARROW, *overrides, name="small", knows="qab")


def run_there(plan: RunPlan, workspace: Path) -> Run:
    """The record of a run on the GPU, whose loss went down."""
    directory = train(plan, workspace)
    first, *_, last = losses(directory, "qaa")
    assert last < first
    record = read_run(directory)
    assert record.engine and record.engine["device"] == "cuda:0"
    return record


def narrow(gpu: PretendedGpu) -> bool:
    """Whether every product on the GPU was of matrices in bfloat16."""
    dtypes = {dtype for name in PRODUCTS for given in gpu.dtypes(name) for dtype in given}
    return {dtype for dtype in dtypes if dtype.is_floating_point} == {torch.bfloat16}


def test_random_weights_are_trained_in_float32_as_on_a_processor(
    make_recipe: MakeRecipe, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GPUS, "h100", replace(GPUS["h100"], peak=1e9))
    plan = plan_of(make_recipe, *SHORT, "train.precision=float32")
    with pretended_gpu() as gpu:
        there = train(replace(plan, name="there"), workspace)
    assert gpu.refused == []
    assert not narrow(gpu)
    record, last = read_run(there), list(read_lines(there / "timing.jsonl"))[-1]
    assert last["peak_of"] == "h100"  # MFU is by the peak of its maker
    expected = last["tokens_per_second"] * record.flops / record.tokens / 1e9
    assert last["utilization"] == pytest.approx(expected, rel=1e-3)
    here = losses(train(plan, workspace), log="metrics.jsonl")
    assert losses(there, log="metrics.jsonl") == pytest.approx(here, rel=1e-5)


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
    monkeypatch.setattr(initialize, "_SHARE", 1.0)  # of a run too short for it otherwise
    base = base_of(workspace, "llama", NEW)
    kept = ("train.replay={qab: 25%}", "train.max_forgetting={qab: 1%}")
    kept += ("train.eval_languages=[qaa, qab]",)
    record = run_there(narrow_child(make_recipe, base, *kept), workspace)
    assert narrow(gpu)
    extension = record.vocabulary_extension
    assert extension and extension["initialization"] == "distilled"


@pytest.mark.parametrize(
    ("family", "overrides"),
    [
        ("llama", ["train.trainable={lora: {rank: 4}}", "train.micro_batch=256 tokens"]),
        ("qwen3_moe", ["train.offload=true", "train.recompute=true"]),
        ("gemma2", []),
    ],
    ids=["lora", "offloaded", "soft-caps"],
)
def test_ways_of_training(
    make_recipe: MakeRecipe,
    workspace: Path,
    gpu: PretendedGpu,
    family: str,
    overrides: list[str],
) -> None:
    apart = "train.cross_document_attention=false"
    run_there(narrow_child(make_recipe, base_of(workspace, family), apart, *overrides), workspace)
    assert narrow(gpu)
    grouped = {(torch.bfloat16, torch.bfloat16, torch.int32)}
    assert gpu.dtypes("_grouped_mm") == (grouped if family == "qwen3_moe" else set())


def test_positions_left_on_the_processor_are_refused(
    make_recipe: MakeRecipe, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    positions = scorer.positions
    monkeypatch.setattr(scorer, "positions", lambda *given: positions(*given).cpu())
    apart = "train.cross_document_attention=false"
    plan = narrow_child(make_recipe, base_of(workspace, "llama"), apart)
    with pretended_gpu() as gpu, pytest.raises(RuntimeError, match="on the same device"):
        train(plan, workspace)
    assert gpu.refused
