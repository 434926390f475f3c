"""The whole of a recipe."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from tongues.core.errors import nearest
from tongues.core.quantities import Budget, Share
from tongues.recipe.base import RecipeSection, ShapeName, readable_name, refuse
from tongues.recipe.experts import Experts
from tongues.recipe.texts import Text, TokenSettings
from tongues.recipe.training import ModelShape, Train

# The sections on many runs: a grid of them, and a pilot of small ones before a large one.


def _some_target(value: list[float]) -> list[float]:
    if max(value) >= 1:
        raise ValueError("at 100% replay nothing of the target is learned")
    return value


_Names = Annotated[list[str], Field(min_length=1)]
_Shapes = Annotated[list[ShapeName], Field(min_length=1)]
_Strategies = Annotated[list[Literal["scratch", "cpt"]], Field(min_length=1)]
_Replays = Annotated[list[Share], Field(min_length=1), AfterValidator(_some_target)]
_Budgets = Annotated[list[Budget], Field(min_length=1)]
_Seeds = Annotated[list[int], Field(min_length=1)]
_Rates = Annotated[list[Annotated[float, Field(gt=0, lt=1)]], Field(min_length=3)]


class Grid(RecipeSection):
    """A further grid of a study: the study's own but for the keys that are given here."""

    targets: _Names | None = None
    """As of the study."""
    shapes: _Shapes | None = None
    """As of the study."""
    strategies: _Strategies | None = None
    """As of the study."""
    replay: _Replays | None = None
    """As of the study."""
    budgets: _Budgets | None = None
    """As of the study."""
    source_budgets: _Budgets | None = None
    """As of the study."""
    seeds: _Seeds | None = None
    """As of the study."""


class Sweep(RecipeSection):
    """Peak rates tried on source models of small shapes; all other rates follow from the best."""

    shapes: _Shapes
    """Shapes of the source models."""
    learning_rates: _Rates
    """Peaks to try, at least three."""


class Study(RecipeSection):
    """Many runs: every target, shape, strategy, replay ratio, budget and seed; or mixtures."""

    source: str = ""
    """Language that continued runs start from; left out with `mixtures`."""
    targets: _Names
    """Languages to learn."""
    shapes: _Shapes
    """Shapes of all runs."""
    strategies: _Strategies = Field(default=["scratch", "cpt"])
    """From scratch, or continued from a source model."""
    replay: _Replays = Field(default=[0.0])
    """Shares of source text in continued runs."""
    budgets: _Budgets | None = None  # of a target's runs; by default `train.budget` alone
    """Of the targets' runs; default: `train.budget`."""
    source_budgets: _Budgets | None = None
    """Of the source models, the usual one first; default: `train.budget`."""
    seeds: _Seeds = Field(default=[1])
    """Random seeds."""
    also: list[Grid] = Field(default=[])
    """Further grids with some of the keys above."""
    mixtures: int | None = Field(default=None, ge=2, le=10_000)
    """Number of mixtures of the targets, each a run from scratch: proxies of a larger run."""
    sweep: Sweep | None = None
    """Find the learning rate first."""
    workers: int | None = Field(default=None, ge=1)
    """Runs at a time; default: one per core."""

    @model_validator(mode="after")
    def _either(self) -> "Study":
        if not (self.source or self.mixtures):
            raise ValueError("`source` is missing: the language that continued runs start from")
        wrong = {"source", "strategies", "replay", "source_budgets", "also", "sweep"}
        if self.mixtures and (named := sorted(wrong & self.model_fields_set)):
            raise ValueError(f"with `mixtures` all runs are from scratch; leave out `{named[0]}`")
        if self.mixtures and len(self.targets) < 2:
            raise ValueError("a mixture has two languages or more; name them in `targets`")
        return self


class Pilot(RecipeSection):
    """Small runs from which the losses of this recipe's own run are forecast."""

    source: str
    """Language of the base."""
    target: str
    """Language to learn."""
    share: Share = 0.01  # of the recipe's budget, for all small runs together
    """Share of `train.budget` for all small runs together."""

    @model_validator(mode="after")
    def _two_languages(self) -> "Pilot":
        if self.source == self.target:
            raise ValueError(f"`{self.source}` is source and target at once")
        if not 0 < self.share < 1:
            raise ValueError("the small runs take more than nothing and less than all")
        return self


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
