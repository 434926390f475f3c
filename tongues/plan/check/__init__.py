"""Everything that can be wrong in a recipe, found before work starts, and what follows from it."""

from tongues.plan.check.checked import Checked
from tongues.plan.check.recipe import check_disk, check_recipe

__all__ = ["Checked", "check_disk", "check_recipe"]
