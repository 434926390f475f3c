import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.study.pilot.conftest import Trainer
from tongues.recipe import Recipe
from tongues.study.pilot.rounds import PilotState, begin, extend, learned
from tongues.study.pilot.selection import choose_runs, cost_of, with_parents

RecipeOf = Callable[..., Recipe]
pytestmark = pytest.mark.usefixtures("quickly")


@pytest.fixture
def pilot(recipe_of: RecipeOf, workspace: Path) -> PilotState:
    return begin(recipe_of(), workspace)


def test_the_price_is_kept_and_bases_are_paid_once(pilot: PilotState) -> None:
    budget = 0.4 * pilot.means.budget
    chosen = choose_runs(pilot.forecast, pilot.options, budget)
    everything = with_parents(chosen)
    assert cost_of(chosen) == pytest.approx(sum(one.flops for one in everything))
    assert cost_of(chosen) <= budget
    assert len({one.name for one in everything}) == len(everything)
    assert {one.plan.strategy for one in everything} == {"source", "scratch", "cpt"}


def test_every_run_tells_something(pilot: PilotState) -> None:
    forecast = pilot.forecast
    names: list[str] = []
    unknown = [forecast.unknown(names)]
    for one in with_parents(pilot.options)[::5]:
        names.append(one.name)
        unknown.append(forecast.unknown(names))
    assert all(later < earlier + 1e-9 for earlier, later in pairwise(unknown))


def test_a_gain_is_the_fall_of_what_is_unknown(pilot: PilotState) -> None:
    scratch = [one for one in pilot.options if one.plan.strategy == "scratch"][:4]
    forecast, names = pilot.forecast, [scratch[0].name]
    gains = forecast.gains(names, scratch[1:])
    for one in scratch[1:]:
        fall = forecast.unknown(names) - forecast.unknown([*names, one.name])
        assert gains[one.name] == pytest.approx(fall, rel=1e-6)


def test_the_design_beats_whatever_is_drawn_for_the_same_price(pilot: PilotState) -> None:
    forecast, budget = pilot.forecast, 0.4 * pilot.means.budget
    chosen = choose_runs(forecast, pilot.options, budget)
    best = forecast.unknown(one.name for one in with_parents(chosen))
    dice = random.Random(1)
    for _ in range(20):
        drawn = []
        for one in dice.sample(pilot.options, len(pilot.options)):
            if cost_of([*drawn, one]) <= budget:
                drawn.append(one)
        assert forecast.unknown(one.name for one in with_parents(drawn)) > best


def test_what_is_left_open_is_what_draws_spread(
    pilot: PilotState, train: Trainer, workspace: Path
) -> None:
    trained = extend(pilot, 1.0)
    train(trained.plans)
    after = learned(trained, workspace)
    assert after.advice
    names = [one.name for one in with_parents(after.runs)]
    expected = np.sqrt(after.forecast.left(names).mean(0))
    for role, spread in zip(after.advice.points, expected, strict=False):
        if role == "forgetting":  # its start is uncertain too
            continue
        drawn = np.log(after.advice.predicted[role]).std()
        assert 0.5 < spread / drawn < 2  # the design is linear in the parameters, the draws are not


def test_runs_already_trained_are_not_chosen_again(pilot: PilotState) -> None:
    first = extend(pilot, 0.4)
    second = extend(first, 1.0)
    assert second.runs[: len(first.runs)] == first.runs
    assert len({one.name for one in second.runs}) == len(second.runs)
    assert cost_of(second.runs) <= pilot.means.budget
    assert extend(second, 1.0).runs[: len(second.runs)] == second.runs
