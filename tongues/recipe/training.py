"""The sections on runs: the model and training of one, a grid of many, a pilot for a real one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from tongues.quantities import Budget, Seconds, Share, Tokens
from tongues.recipe.base import Chosen, RecipeSection, readable_name

__all__ = ["BaseChoice", "Grid", "ModelShape", "Pilot", "Schedule", "Span", "Study", "Sweep"]
__all__ += ["Train"]

_Rate = Annotated[float, Field(gt=0, lt=1)]
Rate = _Rate | Annotated[dict[str, _Rate], Field(min_length=1)]


class ModelShape(RecipeSection):
    """The model of a run."""

    shape: str | None = None  # a name from `tongues.models.SHAPES`
    tied_embeddings: bool = False
    new_embeddings: Literal["mean", "similar", "plain"] = "similar"  # of pieces the parent lacks


@dataclass(frozen=True, slots=True)
class Span:
    """The steps of a run, and where its rate ends."""

    steps: int  # of the run
    warm: int  # the first ones, in which the rate rises to its peak
    final: float  # of the peak rate, at the end


class Schedule(RecipeSection):
    """How the rate goes from its peak to its end: a subclass for each, whose fields are settings.

    The warm-up comes before and is the same for all.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    def share(self, step: int, span: Span) -> float:
        """Rate of step `step`, from 0 and after the warm-up, as a share of the peak."""
        raise NotImplementedError

    def check(self, warmup: float, final: float) -> None:
        """Raise a ValueError when the settings do not go with those that all schedules have.

        warmup: share of the steps. final: share of the peak at the end.
        """


class BaseChoice(RecipeSection):
    """The model to continue from; a bare name stands for `{model: NAME}`."""

    model: str  # a run of the store, or a Hugging Face folder
    languages: list[str] = Field(default=[])  # what it knows; a run of the store knows its own


class Train(RecipeSection):
    """One run, or what all runs of a study have in common."""

    run: str | None = None  # its name; by default the recipe's
    base: BaseChoice | None = None
    targets: list[str] = Field(default=[])  # what is learned; by default all of the mixture
    mixture: dict[str, Share] = Field(default={})  # of what is learned
    replay: dict[str, Share] = Field(default={})  # of all tokens, by language of the base
    max_forgetting: dict[str, Share] = Field(
        {}
    )  # languages replayed so that their loss rises by no more
    cross_document_attention: bool = True  # whether documents of a sample attend to each other
    budget: Budget
    batch: Tokens | Literal["by size"] = 2048
    context: Tokens = 128
    optimizer: Literal["adamw", "muon"] = "adamw"
    learning_rate: Rate = 3e-3  # at its peak; or the best rates found at smaller shapes, by shape
    schedule: Annotated[Schedule, Chosen("schedule", "name")] = Field(
        default_factory=lambda: Chosen("schedule", "name").read("cosine")
    )
    warmup: Share = 0.05  # of the steps
    min_learning_rate: Share = 0.1  # of the peak rate
    weight_decay: float = Field(default=0.1, ge=0, le=1, strict=False)
    clip: float = Field(default=1.0, gt=0, strict=False)
    z_loss: float = Field(default=0.0, ge=0, lt=1, strict=False)
    embedding_warmup: Share = 0.0  # of the steps, the first ones, in which only embeddings learn
    on_spike: Literal["warn", "rollback", "stop"] = "warn"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    eval_languages: list[str] = Field([])  # languages whose held-out loss is taken; all when empty
    eval_tokens: Tokens = 100_000  # of each one's held-out text, the same at each evaluation
    num_evals: int = Field(default=10, ge=1, le=1000)  # at log-spaced points, besides the start
    seed: int = 1
    # The machine's business: no part of what the run is.
    checkpoint_every: Seconds = 60.0
    keep_checkpoints: int = Field(default=2, ge=1, le=1000)  # newest checkpoints
    milestones: list[Share] = Field([])  # of the steps: these checkpoints are kept for good
    micro_batch: Tokens | None = None  # computed at a time in each process; its share of the batch
    recompute: bool = False  # layers anew in the backward pass: less memory, more work
    compile: Literal["auto", "on", "off"] = "auto"
    threads: int | None = Field(default=None, ge=1)
    track: Literal["trackio", "tensorboard"] | None = None

    @field_validator("mixture", "replay", "max_forgetting", mode="before")
    @classmethod
    def _by_language(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            what = f"`{value}` names no languages with an amount of each"
            raise ValueError(f"{what}; write them such as `{{sw: 60%, en: 40%}}`")
        return value

    @field_validator("base", mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        return {"model": value} if isinstance(value, str) else value

    @property
    def base_model(self) -> str | None:
        """The run or folder to continue from."""
        return self.base.model if self.base else None

    @field_validator("run")
    @classmethod
    def _readable(cls, value: str | None) -> str | None:
        return None if value is None else readable_name(value)

    @model_validator(mode="after")
    def _consistent(self) -> "Train":
        context, micro_batch = self.context, self.micro_batch
        for what, size in (("batch", self.batch), ("micro-batch", micro_batch)):
            if isinstance(size, int) and size % context:
                near = max(round(size / context), 1) * context
                reason = f"a {what} of {size} tokens is not a whole number of contexts of {context}"
                raise ValueError(f"{reason} tokens; the nearest is `{near} tokens`")
        if isinstance(self.batch, int) and (micro_batch or 0) > self.batch:
            reason = f"a micro-batch of {micro_batch} tokens is more than the batch"
            raise ValueError(f"{reason} of {self.batch} tokens that it is a part of")
        if 0.0 in self.milestones:
            raise ValueError("at 0% nothing is learned yet; the first milestone comes after it")
        self.schedule.check(self.warmup, self.min_learning_rate)
        if self.mixture and abs(sum(self.mixture.values()) - 1) > 1e-6:
            raise ValueError(f"the mixture adds up to {sum(self.mixture.values()):.4g}, not 100%")
        return self


def _some_target(value: list[float]) -> list[float]:
    if max(value) >= 1:
        raise ValueError("at 100% replay nothing of the target is learned")
    return value


_Names = Annotated[list[str], Field(min_length=1)]
_Strategies = Annotated[list[Literal["scratch", "cpt"]], Field(min_length=1)]
_Shares = Annotated[list[Share], Field(min_length=1), AfterValidator(_some_target)]
_Budgets = Annotated[list[Budget], Field(min_length=1)]
_Seeds = Annotated[list[int], Field(min_length=1)]
_Rates = Annotated[list[_Rate], Field(min_length=3)]


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
    learning_rates: _Rates


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
    stop_early: bool = False  # runs forecast to end above the best one like them


class Pilot(RecipeSection):
    """Small runs from which the one of this recipe, with its whole budget, is decided."""

    source: str
    target: str
    share: Share = 0.01  # of the recipe's budget, for all small runs together
    source_budget: Budget | None = None  # of the small bases; usually 20 tokens per parameter
    max_forgetting: Share | None = None  # how far the loss on the source may rise in the end
    shapes: list[str] = Field(default=[])  # that small runs may have; by default every small one
    seeds: _Seeds = Field(default=[1])

    @model_validator(mode="after")
    def _two_languages(self) -> "Pilot":
        if self.source == self.target:
            raise ValueError(f"`{self.source}` is source and target at once")
        if not 0 < self.share < 1:
            raise ValueError("the small runs take more than nothing and less than all")
        return self
