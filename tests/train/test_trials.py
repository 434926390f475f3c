"""How many samples are computed at a time: found by what two sizes take."""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.conftest import MakeRecipe
from tests.golden import inputs
from tests.train.making import STOPPABLE, plan_of, train_and_stop
from tongues.core.cores import core_count
from tongues.core.errors import UserError
from tongues.runs.record import Run, read_run, write_run
from tongues.text.tokens import open_tokens
from tongues.train import RunPlan, derive, start
from tongues.train.engine.processes import Processes
from tongues.train.run import train
from tongues.train.start import LocalRun, assemble
from tongues.train.step import Setup
from tongues.train.trials import fastest, samples_that_fit

HELD = 2_000_000_000  # bytes of weights, gradients and libraries


@dataclass
class Memory:
    """What a GPU would say of its memory, of which each sample takes the same."""

    each: int
    total: int
    samples: list[int] = field(default_factory=list)  # of the forward passes

    def see(self, module: torch.nn.Module, windows: tuple[Tensor, ...]) -> None:
        """Before a forward pass."""
        self.samples.append(len(windows[0]))

    def answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have torch say so."""
        said = {
            "reset_peak_memory_stats": lambda device: None,
            "empty_cache": lambda: None,
            "max_memory_allocated": lambda device: HELD + self.each * self.samples[-1],
            "memory_allocated": lambda device: HELD,
            "memory_reserved": lambda device: HELD,
            "mem_get_info": lambda device: (self.total - HELD, self.total),
        }
        for name, function in said.items():
            monkeypatch.setattr(torch.cuda, name, function)


@pytest.fixture
def setup(make_recipe: MakeRecipe, workspace: Path) -> Setup:
    """A run of 24 samples a batch."""
    changes = ("train.batch=1536 tokens", "train.precision=float32", "train.compile=off")
    plan = plan_of(make_recipe, *changes)
    tokens = open_tokens(workspace / "tokens" / "small")
    derived = derive(plan, tokens.vocabulary_size)
    here = LocalRun(plan, tokens, None, None, workspace, Processes(), 1)
    return assemble(here, derived, lambda line: None, None)[0]


@pytest.mark.parametrize(("each", "expected"), inputs("rows")["test_two_sizes_say_how_many_fit"])
def test_two_sizes_say_how_many_fit(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, each: int, expected: int
) -> None:
    weights = [weight.detach().clone() for weight in setup.scorer.parameters()]
    memory = Memory(each, 10_000_000_000)
    memory.answer(monkeypatch)
    with setup.scorer.register_forward_pre_hook(memory.see):
        assert samples_that_fit(setup) == expected
    assert memory.samples == ([1, 1, 2] if each < 3_500_000_000 else [1, 1])
    for weight, before in zip(setup.scorer.parameters(), weights, strict=True):  # no trace is left
        assert weight.grad is None and torch.equal(weight, before)


def test_moments_are_counted_unless_the_host_holds_them(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = sum(weight.numel() for weight in setup.scorer.parameters())
    each = 100_000_000
    rest = 8 * trained + 12 * each + HELD  # for twelve samples and the moments
    memory = Memory(each, int(rest / 0.9) + 1000)
    memory.answer(monkeypatch)
    with setup.scorer.register_forward_pre_hook(memory.see):
        assert samples_that_fit(setup) == 12
        memory.total -= 10_000
        assert samples_that_fit(setup) == 8
        settings = setup.plan.settings.model_copy(update={"offload": True})
        offloaded = replace(setup, plan=replace(setup.plan, settings=settings))
        assert samples_that_fit(offloaded) == 12


def test_the_processes_take_what_fits_into_all(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Beside(Processes):
        def any(self, flag: bool) -> bool:
            asked.append(flag)
            return flag or 0 < len(asked) - 1 <= 3  # another has room for the fourth divisor

    asked: list[bool] = []
    memory = Memory(1, 10_000_000_000)
    memory.answer(monkeypatch)
    with setup.scorer.register_forward_pre_hook(memory.see):
        assert samples_that_fit(replace(setup, processes=Beside())) == 6


SHORT = "train.budget=2k tokens"


def unbound(make_recipe: MakeRecipe, *overrides: str, name: str) -> RunPlan:
    """A run that names no number of threads."""
    plan = plan_of(make_recipe, *overrides, name=name)
    return replace(plan, settings=plan.settings.model_copy(update={"threads": None}))


def threads_of(record: Run) -> int:
    assert record.engine
    return record.engine["threads"]


@pytest.mark.parametrize(("seconds", "chosen"), inputs("rows")["test_threads_are_as_many_as_pay"])
def test_threads_are_as_many_as_pay(seconds: dict[int, float], chosen: int) -> None:
    tried: list[int] = []

    def measured(threads: int) -> float:
        tried.append(threads)
        return seconds[threads]

    assert fastest(measured, 8) == chosen
    assert all(later == earlier // 2 for earlier, later in pairwise(tried))
    assert fastest(lambda threads: 1 / threads, 1) == 1
    assert fastest(lambda threads: abs(threads - 6) + 1.0, 6) == 6


def test_a_run_takes_no_more_threads_than_the_environment_grants(
    make_recipe: MakeRecipe, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    free = read_run(train(unbound(make_recipe, SHORT, name="free"), workspace))
    assert 1 <= threads_of(free) <= core_count()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    bound = read_run(train(unbound(make_recipe, SHORT, name="bound"), workspace))
    assert threads_of(bound) == torch.get_num_threads() == 1


def test_a_resumed_run_keeps_its_threads_and_its_micro_batch(
    make_recipe: MakeRecipe, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([1, 2])
    monkeypatch.setattr(start, "threads_for", lambda processes: 2)
    monkeypatch.setattr(start, "choose_threads", lambda setup: next(answers))
    plan = unbound(make_recipe, *STOPPABLE, "train.budget=8k tokens", name="stopped")
    directory = train_and_stop(plan, workspace)
    record = read_run(directory)
    assert record.engine and record.engine["micro_batch"] == 512
    write_run(directory, replace(record, engine={**record.engine, "micro_batch": 128}))
    lines: list[str] = []
    resumed = read_run(train(plan, workspace, tell=lines.append))
    assert threads_of(resumed) == torch.get_num_threads() == 1
    assert resumed.engine and resumed.engine["micro_batch"] == 128
    assert not any("threads" in line or "micro_batch" in line for line in lines)
    assert next(answers) == 2  # was not asked for


def test_more_threads_than_cores_are_obeyed_with_a_caution(
    make_recipe: MakeRecipe, workspace: Path
) -> None:
    lines: list[str] = []
    count = core_count() + 1
    plan = plan_of(make_recipe, f"train.threads={count}", SHORT)
    assert threads_of(read_run(train(plan, workspace, tell=lines.append))) == count
    assert any(line.startswith(f"caution: {count} threads") for line in lines)


def test_no_number_of_threads_is_refused(make_recipe: MakeRecipe) -> None:
    with pytest.raises(UserError, match="threads"):
        make_recipe("train.threads=0")
