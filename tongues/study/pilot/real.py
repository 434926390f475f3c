"""The recipe of the real run, as a pilot advises it."""

from typing import Any

from tongues.plan.written import PLACEHOLDER_BASE
from tongues.quantities import show_count
from tongues.recipe import Recipe, Train
from tongues.study.pilot.rounds import Pilot
from tongues.train.rules import nearest_shape

__all__ = ["real_recipe"]


def real_recipe(pilot: Pilot) -> tuple[Recipe, list[str]]:
    """The recipe of the real run, and what to look after in it."""
    assert pilot.advice
    assert pilot.recipe.pilot
    recipe, taken, remarks = pilot.recipe, pilot.advice.taken, []
    asked, vocabulary = recipe.pilot, pilot.means.vocabulary
    assert asked
    params = taken.params or pilot.advice.points[taken.way.strategy].N
    shape, count = nearest_shape(params, vocabulary)
    name = shape.name
    tokens = round(taken.flops / (6.0 * count))
    train: dict[str, Any] = {
        "mixture": {asked.target: 1.0},
        "budget": f"{tokens} tokens",
        "run": f"{recipe.name}-real",
        "evaluate": [asked.target],
    }
    if taken.way.strategy == "cpt":
        if taken.way.base:  # whose shape counts
            name, count = None, params
            train["budget"] = f"{round(taken.flops / (6.0 * params))} tokens"
        train["replay"] = {asked.source: taken.way.replay} if taken.way.replay else {}
        train["evaluate"] = [asked.target, asked.source]
        model = recipe.train.base_model or PLACEHOLDER_BASE
        train["base"] = {"model": model, "languages": [asked.source]}
        if recipe.train.base is None:
            remarks.append(
                f"The base: `train.base` in real.yaml must name a model of shape {shape.name} "
                f"trained on `{asked.source}`; continuing presumes it and does not count its cost."
            )
    else:
        train["base"] = None
    off = count / params - 1.0
    if abs(off) > 0.005:
        remarks.append(
            f"The shape nearest to {show_count(params)} parameters is {shape.name} ({off:+.0%})."
        )
    settings = Train.model_validate(recipe.train.model_dump(mode="json") | train)
    model = recipe.model.model_copy(update={"shape": name})
    changed = {"pilot": None, "train": settings, "model": model}
    return recipe.model_copy(update=changed), remarks
