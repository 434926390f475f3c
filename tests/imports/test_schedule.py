"""Schedules of transformers, told from the rates that a log has of them."""

from typing import Any

import pytest
import torch
from transformers import get_scheduler

from tests.golden import inputs
from tongues.use.imports.log import LoggedStep
from tongues.use.imports.schedule import read_schedule, shown_from

STEPS, WARM, EVERY = 500, 33, 5


def logged(name: str, until: int, settings: dict[str, Any]) -> list[LoggedStep]:
    """The rates of a run's first steps."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=3e-4)
    rates = get_scheduler(name, optimizer, WARM, STEPS, settings)
    found = list[LoggedStep]()
    for step in range(1, until + 1):
        optimizer.step()
        rates.step()
        if step % EVERY == 0:
            found.append(LoggedStep(step, 1.0, float(rates.get_last_lr()[0])))
    return found


@pytest.mark.parametrize("until", [60, 250, STEPS])
@pytest.mark.parametrize(
    ("name", "settings", "ours", "final"), inputs("rows")["test_a_schedule_is_known_by_its_rates"]
)
def test_a_schedule_is_known_by_its_rates(
    name: str, settings: dict[str, Any], ours: str | None, final: float | None, until: int
) -> None:
    found = read_schedule(logged(name, until, settings), STEPS)
    if final is None:
        assert found == {}
        return
    assert ours in (None, found["schedule"])
    # It is exact for a line; of a cosine the first part hardly shows where it will end.
    near = {60: 10, 250: 2, STEPS: 0.5}[until] if ours == "cosine" else 0.1
    assert float(found["min_learning_rate"][:-1]) == pytest.approx(final, abs=near)
    assert float(found["warmup"][:-1]) == pytest.approx(100 * WARM / STEPS, abs=1)


def test_before_a_schedule_shows_the_step_from_which_it_does_is_known() -> None:
    rates = {until: logged("cosine", until, {}) for until in (20, 45, 50)}
    assert {until: shown_from(x) for until, x in rates.items()} == {20: 35, 45: 50, 50: 50}
    shown = {until: bool(read_schedule(x, STEPS)) for until, x in rates.items()}
    assert shown == {20: False, 45: False, 50: True}


def test_the_decay_of_a_stable_rate_is_not_seen_before_it_begins() -> None:
    decays = {"num_decay_steps": 100}
    stable = read_schedule(logged("warmup_stable_decay", 400, decays), STEPS)
    assert stable["min_learning_rate"] == "100%"
    assert read_schedule(logged("warmup_stable_decay", 450, decays), STEPS) == {}
