"""What a user writes: one YAML file, typed, strict, with `key=value` overrides."""

from tongues.recipe.loading import load_recipe, show_recipe
from tongues.recipe.sections import (
    Clean,
    Columns,
    Drift,
    Extend,
    Files,
    Hub,
    Made,
    Model,
    Recipe,
    Study,
    Text,
    TokenSettings,
    Train,
)

__all__ = [
    "Clean",
    "Columns",
    "Drift",
    "Extend",
    "Files",
    "Hub",
    "Made",
    "Model",
    "Recipe",
    "Study",
    "Text",
    "TokenSettings",
    "Train",
    "load_recipe",
    "show_recipe",
]
