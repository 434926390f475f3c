"""A recipe as it is done in a workspace: completed once, at the top of a verb, and passed down."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tongues.core.errors import Caution
from tongues.core.hardware import Machine, this_machine
from tongues.recipe import Recipe, Train
from tongues.recipe.loading import load_section
from tongues.train.defaults import (
    Default,
    base_facts,
    new_token_cautions,
    rate_cautions,
    usual_values,
)


@dataclass(frozen=True, slots=True)
class Work:
    """A recipe with nothing left out, where its work is done, and how the values came."""

    recipe: Recipe
    workspace: Path
    defaults: tuple[Default, ...]  # values that follow from the base and are not the usual ones
    cautions: tuple[Caution, ...]  # about values of the recipe that are far from published ones


def open_work(recipe: Recipe, workspace: Path = Path(), machine: Machine | None = None) -> Work:
    """The recipe with the values that follow from its base, as if it had named them.

    Without a base, or where it is not there, as it is. machine: trains it; default: this one.
    """
    facts, train = base_facts(recipe, workspace), recipe.train
    if facts is None:
        return Work(recipe, workspace, (), ())
    usual = usual_values(recipe, facts, (machine or this_machine()).device)
    left_out = [one for one in usual if one.key not in train.model_fields_set]
    values: dict[str, Any] = train.model_dump(mode="json", exclude_unset=True)
    values |= {one.key: one.value for one in left_out}
    completed = load_section(values, Train, "train") if left_out else train
    changed = [x for x in left_out if getattr(completed, x.key) != getattr(train, x.key)]
    cautions = (*rate_cautions(recipe, usual), *new_token_cautions(recipe, facts))
    recipe = recipe.model_copy(update={"train": completed})
    return Work(recipe, workspace, tuple(changed), () if facts.run else cautions)
