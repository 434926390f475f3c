"""How many samples are computed at a time: found by a trial, kept by a resumed run."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.conftest import MakeRecipe
from tests.train.test_run import STOPPABLE, plan_of, train_and_stop
from tongues.hardware import GPUS, Machine
from tongues.runs import read_run, write_run
from tongues.tokens import open_tokens
from tongues.train import derive
from tongues.train.engine.processes import Processes
from tongues.train.micro_batch import largest, micro_batch_by_count, samples_that_fit
from tongues.train.rules import run_bytes
from tongues.train.run import train
from tongues.train.start import LocalRun, assemble
from tongues.train.step import Setup


@pytest.fixture
def setup(make_recipe: MakeRecipe, workspace: Path) -> Setup:
    """A run whose batch of 2,048 samples takes over a gigabyte at once."""
    changes = ("train.batch=131072 tokens", "train.budget=1M tokens", "train.precision=float32")
    plan = plan_of(make_recipe, *changes, "train.compile=off")
    tokens = open_tokens(workspace / "tokens" / "small")
    derived = derive(plan, tokens.vocabulary_size)
    here = LocalRun(plan, tokens, None, None, workspace, Processes(), 1)
    return assemble(here, derived, lambda line: None, None)[0]


@contextmanager
def at_most(more: int) -> Iterator[None]:
    """While entered, this process gets only so many bytes more."""
    status = Path("/proc/self/status").read_text()
    now = 1024 * int(status.split("VmData:")[1].split()[0])
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (now + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def test_samples_are_halved_until_memory_suffices() -> None:
    tried: list[int] = []

    def compute(samples: int) -> None:
        tried.append(samples)
        torch.empty((samples // 4) << 50, dtype=torch.uint8)  # a petabyte for each four

    assert largest(compute, 25) == 3
    assert tried == [25, 12, 6, 3]


def test_what_halving_does_not_help_stays_an_error() -> None:
    def wrong(samples: int) -> None:
        raise RuntimeError("shapes cannot be multiplied")

    def never(samples: int) -> None:
        torch.empty(1 << 50, dtype=torch.uint8)

    with pytest.raises(RuntimeError, match="shapes"):
        largest(wrong, 8)
    with pytest.raises(RuntimeError, match="allocate memory"):
        largest(never, 8)


def test_several_gpus_take_what_fits_by_count(setup: Setup) -> None:
    settings, derived = setup.plan.settings, setup.derived
    gpus = Machine.of_gpus(GPUS["h100"], 4)
    assert micro_batch_by_count(settings, derived, gpus) is None  # a share of a batch at once
    low = replace(gpus, memory=1.6e9)
    tokens = micro_batch_by_count(settings, derived, low)
    assert tokens and settings.context < tokens < derived.batch // 4
    assert tokens % settings.context == 0
    less = settings.model_copy(update={"micro_batch": tokens})
    assert run_bytes(derived.anatomy, less, derived.batch, derived.flops, low) < low.memory
    none = replace(gpus, memory=1e9)
    assert micro_batch_by_count(settings, derived, none) == settings.context
    assert micro_batch_by_count(settings, derived, Machine("here", "cpu", 1e9, 4)) is None


def test_a_trial_finds_what_memory_holds_and_leaves_no_trace(setup: Setup) -> None:
    weights = [weight.detach().clone() for weight in setup.scorer.parameters()]
    with at_most(200_000_000):
        fewer = samples_that_fit(setup)
    assert 1 <= fewer < setup.samples_at_a_time == 2048
    small = replace(setup, samples_at_a_time=8)
    assert samples_that_fit(small) == 8
    for weight, before in zip(setup.scorer.parameters(), weights, strict=True):
        assert weight.grad is None
        torch.testing.assert_close(weight.detach(), before, rtol=0, atol=0)


def test_a_resumed_run_keeps_its_micro_batch(make_recipe: MakeRecipe, workspace: Path) -> None:
    plan = plan_of(make_recipe, *STOPPABLE, name="stopped")
    directory = train_and_stop(plan, workspace)
    record = read_run(directory)
    assert record.engine and record.engine["micro_batch"] == 512
    write_run(directory, replace(record, engine={**record.engine, "micro_batch": 128}))
    told: list[str] = []
    train(plan, workspace, tell=told.append)
    resumed = read_run(directory).engine
    assert resumed and resumed["micro_batch"] == 128
    assert not any("micro_batch" in line for line in told)
