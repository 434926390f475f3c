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
from tongues.recipe.recipe import Grid, Pilot, Recipe, Study, TextRecipe
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
from tongues.recipe.training import (
    BaseChoice,
    Initialization,
    Lora,
    LowRank,
    MixtureRule,
    ModelShape,
    Optimizer,
    Schedule,
    Span,
    States,
    Train,
)

__all__ = ["Ancestry", "BaseChoice", "Clean", "Columns", "ExpertBudget", "Experts", "Extend"]
__all__ += ["Files", "Grid", "HeldOutLike", "Hub", "Initialization", "Lora", "LowRank"]
__all__ += ["MixtureRule", "ModelShape", "Optimizer", "Overrides", "PartitionSettings", "Pilot"]
__all__ += ["Recipe", "RecipeSource", "Schedule", "Span", "States", "Study", "Synthetic"]
__all__ += ["Text", "TextRecipe", "TokenSettings", "Train", "in_workspace", "load_recipe"]
__all__ += ["load_text_recipe", "results_name", "show_recipe", "training_command"]
__all__ += ["training_verb"]
