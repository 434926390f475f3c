"""The whole of a recipe."""

from collections.abc import Mapping
from typing import Any

from pydantic import field_validator, model_validator

from tongues.core.errors import nearest
from tongues.recipe.base import RecipeSection, readable_name, refuse
from tongues.recipe.experts import Experts
from tongues.recipe.studies import Pilot, Study
from tongues.recipe.texts import Text, TokenSettings
from tongues.recipe.training import ModelShape, Train


class TextRecipe(RecipeSection):
    """What `prepare` needs of a recipe."""

    extends: str | None = None
    """A recipe, by its path from this file, whose keys hold where this one has none."""
    name: str
    """Folder of the outputs: `tokens/NAME`, `runs/NAME`. Letters, digits, dot, dash, underscore."""
    text: Text
    """Where the text comes from."""
    tokens: TokenSettings = TokenSettings()
    """How it becomes tokens."""

    @property
    def corpus(self) -> str:
        """The folder of its corpus in `corpus/`."""
        return self.text.name or self.name

    @field_validator("name")
    @classmethod
    def _readable(cls, value: str) -> str:
        return readable_name(value)

    @model_validator(mode="after")
    def _extended_for_languages_there_are(self) -> "TextRecipe":
        extend = self.tokens.extend
        for lang in (*extend.languages, *extend.preserve) if extend else ():
            if lang not in self.text.languages:
                raise ValueError(f"`tokens.extend` names `{lang}`, which has no text")
        return self


class Recipe(TextRecipe):
    """All of it. `name` becomes the folder of what is made."""

    model: ModelShape = ModelShape()
    """The model of a run."""
    train: Train
    """One run, or what all runs have in common."""
    study: Study | None = None
    """Many runs."""
    pilot: Pilot | None = None
    """Small runs that forecast one large run."""
    experts: Experts | None = None
    """Language experts."""

    @model_validator(mode="before")
    @classmethod
    def _usual_budget(cls, value: Any) -> Any:
        sections = value if isinstance(value, Mapping) else {}
        study, train = (sections.get(name) for name in ("study", "train"))
        if not (isinstance(study, Mapping) and isinstance(train, Mapping)):
            return value
        if study.get("budgets") and train.get("budget") is None:
            hint = "write one of `study.budgets` there: source models have it"
            refuse("`budget` is missing, the usual one of a study", hint, ("train", "budget"), None)
        return value

    @model_validator(mode="after")
    def _one_kind_of_work(self) -> "Recipe":
        kinds = [name for name in ("study", "pilot", "experts") if getattr(self, name)]
        if len(kinds) > 1:
            raise ValueError(f"a recipe has a `{kinds[0]}` or `{kinds[1]}`, not both")
        if self.experts and bool(self.train.base) == bool(self.experts.add_to):
            raise ValueError("experts branch from `train.base` or from `experts.add_to`: give one")
        if self.pilot and self.train.budget.unit == "seconds":
            raise ValueError("a pilot spends a share of `train.budget`; give it in FLOPs or tokens")
        return self

    @model_validator(mode="after")
    def _pilot_of_languages_with_text(self) -> "Recipe":
        known = self.text.languages
        for key in ("source", "target") if self.pilot else ():
            lang = getattr(self.pilot, key)
            if lang not in known:
                what = f"language `{lang}` has no text"
                refuse(what, nearest(lang, known), ("pilot", key), lang)
        return self
