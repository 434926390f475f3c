"""One run: its plan, the numbers that follow from it, and the training itself.

`tongues.train.run` is imported by name where it is needed, since it brings torch.
"""

from tongues.train.plan import derive, run_of_recipe
from tongues.train.planned import Derived, RunPlan

__all__ = ["Derived", "RunPlan", "derive", "run_of_recipe"]
