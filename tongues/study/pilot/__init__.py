"""A pilot: the few small runs from which one large run is decided."""

from collections.abc import Callable, Sequence
from pathlib import Path

from tongues.launch import Launcher
from tongues.recipe import Recipe
from tongues.study.driver import State, run_all
from tongues.study.pilot.rounds import PilotState, conduct, plan_pilot
from tongues.train import RunPlan

__all__ = ["PilotState", "plan_pilot", "run_pilot"]


def run_pilot(
    recipe: Recipe,
    workspace: Path,
    *,
    launcher: Launcher | None = None,
    watch: Callable[[State], None] = lambda state: None,
    tell: Callable[[str], None] = lambda line: None,
) -> PilotState:
    """Train the small runs of a recipe's pilot in two rounds.

    Stopped or killed, the same call resumes: all that is decided follows from the recipe and the
    runs' own losses.

    launcher, watch, tell: as of `run_all`, which is called once a round.
    """

    def train(plans: Sequence[RunPlan]) -> None:
        run_all(plans, workspace, launcher=launcher, watch=watch, tell=tell)

    return conduct(recipe, workspace, train, tell)
