"""What a user writes: one YAML file, typed, strict, with `key=value` overrides."""

from tongues.recipe.experts import Division, Experts
from tongues.recipe.loading import Overrides, RecipeSource, load_recipe, show_recipe
from tongues.recipe.studies import Grid, Pilot, Study, Sweep
from tongues.recipe.texts import (
    Ancestry,
    Clean,
    Columns,
    Extend,
    Files,
    Hub,
    Made,
    Text,
    TokenSettings,
)
from tongues.recipe.training import BaseChoice, ModelShape, Schedule, Span, Train
from tongues.recipe.whole import Recipe

__all__ = [
    "Ancestry",
    "BaseChoice",
    "Clean",
    "Columns",
    "Division",
    "Experts",
    "Extend",
    "Files",
    "Grid",
    "Hub",
    "Made",
    "ModelShape",
    "Overrides",
    "Pilot",
    "Recipe",
    "RecipeSource",
    "Schedule",
    "Span",
    "Study",
    "Sweep",
    "Text",
    "TokenSettings",
    "Train",
    "load_recipe",
    "show_recipe",
]
