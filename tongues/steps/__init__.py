"""What comes next and why, from what is on disk: the one place that decides, for every verb."""

from tongues.steps.demo import DEMO, demo_begun
from tongues.steps.models import step_of_evaluation
from tongues.steps.recipes import step_of_recipe, steps_in
from tongues.steps.runs import more_runs_of, step_of_reported, step_of_runs
from tongues.steps.step import Step, free_place, is_run, last_trained

__all__ = [
    "DEMO",
    "Step",
    "demo_begun",
    "free_place",
    "is_run",
    "last_trained",
    "more_runs_of",
    "step_of_evaluation",
    "step_of_recipe",
    "step_of_reported",
    "step_of_runs",
    "steps_in",
]
