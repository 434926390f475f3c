"""How many samples are computed at a time: found by what two sizes take."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.conftest import MakeRecipe
from tests.train.making import plan_of
from tongues.tokens import open_tokens
from tongues.train import derive
from tongues.train.engine.processes import Processes
from tongues.train.micro_batch import samples_that_fit
from tongues.train.start import LocalRun, assemble
from tongues.train.step import Setup

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


@pytest.mark.parametrize(
    ("each", "expected"),
    [
        (100_000_000, 24),  # 1 + (0.9 · 10 GB - 2 GB of the rest) / 0.1 GB and more
        (600_000_000, 8),  # eleven fit, of which eight divide the batch
        (3_000_000_000, 2),
        (4_000_000_000, 1),  # two were not even tried
        (9_000_000_000, 1),  # as it is: one sample ran
    ],
)
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
