"""What a probe may cost, and which method it chooses."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.conftest import MakeRecipe
from tongues.train import derive, run_of_recipe
from tongues.train.initialize import choose_method, probe_size, set_aside


@pytest.mark.parametrize("budget", ["2M tokens", "20M tokens", "2G tokens"])
def test_probes_cost_a_hundredth_of_the_run(make_recipe: MakeRecipe, budget: str) -> None:
    derived = derive(run_of_recipe(make_recipe(f"train.budget={budget}")), 400)
    size = probe_size(derived, 64, 2, 3, 4)
    assert size is not None
    steps, batch, scored = size
    assert 5 <= steps <= 50
    assert batch % 128 == 0
    assert batch <= derived.batch
    work = 4 * (steps * batch + 2 * 3 * scored / 3)
    assert work <= 0.0101 * derived.tokens
    if budget == "2G tokens":
        assert (steps, batch) == (50, 512)


def test_the_number_of_processes_does_not_decide(make_recipe: MakeRecipe) -> None:
    budget = ("train.budget=20M tokens", "train.batch=4096 tokens")
    derived = derive(run_of_recipe(make_recipe(*budget)), 400)
    alone = probe_size(derived, 64, 1, 2, 4)
    assert alone is not None and alone[1] == 512
    assert [probe_size(derived, 64, count, 2, 4) for count in (2, 4, 8)] == [alone] * 3
    larger = probe_size(derived, 64, 32, 2, 4)
    assert larger is not None and larger[1] == 2048


def test_a_run_of_few_steps_has_no_probe(make_recipe: MakeRecipe) -> None:
    derived = derive(run_of_recipe(make_recipe("train.budget=100k tokens")), 400)
    assert probe_size(derived, 64, 1, 2, 4) is None


def test_the_lowest_on_the_targets_wins_unless_it_costs_the_base() -> None:
    losses = {
        "mean": {"sw": 5.0, "yo": 6.0, "en": 3.00},
        "similar": {"sw": 5.2, "yo": 5.6, "en": 3.025},
        "distilled": {"sw": 4.0, "yo": 5.0, "en": 3.04},
    }
    assert choose_method(losses, ["sw", "yo"], ["en"]) == "similar"
    assert choose_method(losses, ["sw"], ["en"]) == "mean"
    assert choose_method(losses, ["sw", "yo"], []) == "distilled"


def test_copies_for_a_trial_are_not_on_the_gpu() -> None:
    with FakeTensorMode():  # a device of which only the sizes are computed
        (copy,) = set_aside([torch.empty(4, device="cuda")])
    assert copy.device.type == "cpu"
    weight = torch.zeros(4)
    (copy,) = set_aside([weight])
    weight += 1
    assert copy.tolist() == [0.0] * 4
