"""The sections on many runs: a grid of them, and a pilot for one real run."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from tongues.quantities import Budget, Share
from tongues.recipe.base import RecipeSection

__all__ = ["Grid", "Pilot", "Study", "Sweep"]


def _some_target(value: list[float]) -> list[float]:
    if max(value) >= 1:
        raise ValueError("at 100% replay nothing of the target is learned")
    return value


_Names = Annotated[list[str], Field(min_length=1)]
_Strategies = Annotated[list[Literal["scratch", "cpt"]], Field(min_length=1)]
_Shares = Annotated[list[Share], Field(min_length=1), AfterValidator(_some_target)]
_Budgets = Annotated[list[Budget], Field(min_length=1)]
_Seeds = Annotated[list[int], Field(min_length=1)]
_Rates = Annotated[list[Annotated[float, Field(gt=0, lt=1)]], Field(min_length=3)]


class Grid(RecipeSection):
    """A further grid of a study: the study's own but for the keys that are given here."""

    targets: _Names | None = None
    shapes: _Names | None = None
    strategies: _Strategies | None = None
    replay: _Shares | None = None
    budgets: _Budgets | None = None
    source_budgets: _Budgets | None = None
    seeds: _Seeds | None = None


class Sweep(RecipeSection):
    """Peak rates tried on source models of small shapes; all other rates follow from the best."""

    shapes: _Names
    rates: _Rates


class Study(RecipeSection):
    """Many runs: every target, shape, strategy, replay ratio, budget and seed."""

    source: str
    targets: _Names
    shapes: _Names
    strategies: _Strategies = Field(default=["scratch", "cpt"])
    replay: _Shares = Field(default=[0.0])
    budgets: _Budgets | None = None  # of a target's runs; by default `train.budget` alone
    source_budgets: _Budgets | None = None  # of the source models, the usual one first; as above
    seeds: _Seeds = Field(default=[1])
    also: list[Grid] = Field(default=[])
    sweep: Sweep | None = None
    workers: int | None = Field(default=None, ge=1)  # runs at a time; by default one per core


class Pilot(RecipeSection):
    """Small runs from which the one of this recipe, with its whole budget, is decided."""

    source: str
    target: str
    share: Share = 0.01  # of the recipe's budget, for all small runs together
    source_budget: Budget | None = None  # of the small bases; usually 20 tokens per parameter
    keep: Share | None = None  # how far the loss on the source may rise in the end
    shapes: list[str] = Field(default=[])  # that small runs may have; by default every small one
    seeds: _Seeds = Field(default=[1])

    @model_validator(mode="after")
    def _two_languages(self) -> "Pilot":
        if self.source == self.target:
            raise ValueError(f"`{self.source}` is source and target at once")
        if not 0 < self.share < 1:
            raise ValueError("the small runs take more than nothing and less than all")
        return self
