"""What a user writes: one YAML file, typed, strict, with `key=value` overrides."""

from tongues.recipe.experts import Division, Experts
from tongues.recipe.loading import Overrides, RecipeSource, load_recipe, show_recipe
from tongues.recipe.studies import Grid, Pilot, Study, Sweep
from tongues.recipe.texts import (
    Clean,
    Columns,
    Drift,
    Extend,
    Files,
    Hub,
    Made,
    Text,
    TokenSettings,
)
from tongues.recipe.training import BaseChoice, Model, Schedule, Span, Train
from tongues.recipe.whole import Recipe

__all__ = [
    "BaseChoice",
    "Clean",
    "Columns",
    "Division",
    "Drift",
    "Experts",
    "Extend",
    "Files",
    "Grid",
    "Hub",
    "Made",
    "Model",
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
