"""What a user writes: one YAML file, typed, strict, with `key=value` overrides."""

from tongues.recipe.experts import ExpertBudget, Experts, PartitionSettings
from tongues.recipe.folder import in_workspace, results_name, training_command, training_verb
from tongues.recipe.loading import (
    Overrides,
    RecipeSource,
    load_recipe,
    load_text_recipe,
    show_recipe,
)
from tongues.recipe.mixtures import MixtureRule
from tongues.recipe.recipe import Recipe, TextRecipe
from tongues.recipe.studies import Grid, Pilot, Study
from tongues.recipe.texts import (
    Ancestry,
    Clean,
    Columns,
    Extend,
    Files,
    HeldOutLike,
    Hub,
    Synthetic,
    Text,
    TokenSettings,
)
from tongues.recipe.trainable import Lora, LowRank
from tongues.recipe.training import BaseChoice, Initialization, ModelShape, Schedule, Span, Train

__all__ = ["Ancestry", "BaseChoice", "Clean", "Columns", "ExpertBudget", "Experts", "Extend"]
__all__ += ["Files", "Grid", "HeldOutLike", "Hub", "Initialization", "Lora", "LowRank"]
__all__ += ["MixtureRule", "ModelShape", "Overrides", "PartitionSettings", "Pilot", "Recipe"]
__all__ += ["RecipeSource", "Schedule", "Span", "Study", "Synthetic", "Text", "TextRecipe"]
__all__ += ["TokenSettings", "Train", "in_workspace", "load_recipe", "load_text_recipe"]
__all__ += ["results_name", "show_recipe", "training_command", "training_verb"]
