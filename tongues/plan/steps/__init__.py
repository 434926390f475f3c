"""What comes next and why, from what is on disk: the one place that decides, for every verb."""

from tongues.plan.steps.models import step_of_evaluation
from tongues.plan.steps.recipes import step_of_recipe, steps_in
from tongues.plan.steps.runs import last_trained, step_of_runs
from tongues.plan.steps.step import Step, free_place, is_run

__all__ = ["Step", "free_place", "is_run", "last_trained", "step_of_evaluation"]
__all__ += ["step_of_recipe", "step_of_runs", "steps_in"]
