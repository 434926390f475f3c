"""The sections on one run: its model and its training."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from tongues.core.errors import UserError
from tongues.core.quantities import Budget, Seconds, Share, Tokens
from tongues.core.registry import registry
from tongues.recipe.base import Chosen, RecipeSection, ShapeName, readable_name, refuse
from tongues.recipe.mixtures import MixtureRule, MixtureShares, by_language

Initialization = Literal["distilled", "mean"]
States = Literal["float32", "bfloat16"]
_PARTS = ("all", "embeddings", "feed_forward", "routers")  # of the weights of a base
_Rate = Annotated[float, Field(gt=0, lt=1)]
_LEAST_FINAL = 0.005  # of the peak; less, but not 0, is surely meant as a rate
Rate = _Rate | Annotated[dict[str, _Rate], Field(min_length=1)]


class Lora(RecipeSection):
    """Low-rank updates of the layers' matrices (LoRA), by `peft`."""

    rank: int = Field(default=128, ge=1)
    """Rank of each update, which counts twice."""


class LowRank(RecipeSection):
    """Low-rank updates instead of whole matrices; `lora` alone means the defaults."""

    lora: Lora = Field(default_factory=Lora)
    """The updates."""
    embeddings: bool = True
    """Whether input and output embeddings are trained too, whole."""


def _trainable(value: Any) -> Any:
    if value == "lora":
        return LowRank()
    if not isinstance(value, str) or value in _PARTS:
        return value
    names = ", ".join(f"`{part}`" for part in _PARTS)
    what = f"`{value}` names no weights; write {names} or `lora`"
    raise ValueError(f"{what}, or a rank as in `{{lora: {{rank: 64}}}}`")


Trainable = Annotated[
    Literal["all", "embeddings", "feed_forward", "routers"] | LowRank, BeforeValidator(_trainable)
]


class ModelShape(RecipeSection):
    """The model of a run."""

    shape: ShapeName | None = None
    """Name of a shape; `tongues check` shows exact counts."""
    tied_embeddings: bool = False
    """Whether input and output share one matrix."""
    new_embeddings: Initialization = "distilled"
    """How tokens new to the base start: by the `mean` of what spells them, or trained from that."""


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


class Optimizer(RecipeSection):
    """How gradients move weights: a subclass for each, whose fields are settings.

    The learning rate is set at every step, and decay is in the groups: the same for all.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    def moments(self, states: States) -> int:
        """Bytes that it keeps of a parameter; a ValueError where it keeps none of that type."""
        raise NotImplementedError

    def make(self, groups: list[dict[str, Any]], rate: float, states: States) -> Any:
        """PyTorch's optimizer of these groups of weights, which may be sharded (`DTensor`)."""
        raise NotImplementedError


class BaseChoice(RecipeSection):
    """The model to continue from; a bare name means `{model: NAME}`."""

    model: str
    """A run of the workspace, a Hugging Face folder, or a model of the hub: `org/name@revision`."""
    languages: list[str] = Field(default=[])
    """Languages it knows; a run has its own."""


class Train(RecipeSection):
    """One run, or what all runs of a study have in common."""

    run: str | None = None  # its name; by default the recipe's
    """Name of the run; default: the recipe's."""
    base: BaseChoice | None = None
    """The model to continue from (CPT); the schedule warms up again."""
    targets: list[str] = Field(default=[])
    """Languages to learn; default: all of the mixture."""
    mixture: MixtureShares = Field(default={})
    """Tag to its share of the text to learn, which add up to 100%; or a rule, or `auto`."""
    replay: dict[str, Share] = Field(default={})
    """Tag to its share of all tokens, of the base's languages; the mixture shares out the rest."""
    max_forgetting: dict[str, Share] = Field({})
    """Tag to how far the held-out loss of a replayed language may rise; its share is adjusted."""
    cross_document_attention: bool = True
    """Whether documents of a sample attend to each other."""
    trainable: Trainable = "all"
    """Weights of the base to train: `all`, `embeddings`, `feed_forward`, `routers`, or `lora`."""
    budget: Budget
    """Length: tokens, tokens per parameter (embeddings included), FLOPs, or a time."""
    batch: Tokens | Literal["by size"] = 2048
    """Tokens of a step, or the rule `by size`; with a base it follows from that."""
    context: Tokens = 128
    """Tokens of a sample; with a base it follows from that."""
    optimizer: Annotated[Optimizer, Chosen("optimizer", "name")] = Field(
        default_factory=lambda: Chosen("optimizer", "name").read("adamw")
    )
    """A name, or with settings; another package can add one."""
    optimizer_states: States = "float32"
    """Type in which the optimizer's moments are kept; `bfloat16` takes half their memory."""
    learning_rate: Rate = 3e-3
    """Its peak, or the best at smaller shapes: `{0.1M: 7e-3}`; with a base it follows from that."""
    schedule: Annotated[Schedule, Chosen("schedule", "name")] = Field(
        default_factory=lambda: Chosen("schedule", "name").read("cosine")
    )
    """A name, or with settings: `{name: wsd, decay: 10%}`."""
    warmup: Share = 0.05
    """Share of the steps in which the learning rate rises; with a base it follows from that."""
    min_learning_rate: Share = 0.1
    """Learning rate at the end, as a share of the peak."""
    weight_decay: float = Field(default=0.1, ge=0, le=1, strict=False)
    """Weight decay of matrices."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """`auto`: bfloat16 where the hardware multiplies it, with weights in float32."""
    eval_languages: list[str] = Field([])
    """Languages whose held-out loss is measured; default: all."""
    eval_tokens: Tokens = 100_000  # of each one's held-out text, the same at each evaluation
    """Held-out tokens of each language in an evaluation, always the same ones."""
    num_evals: int = Field(default=10, ge=1, le=1000)
    """Evaluations at log-spaced steps after the one at the start."""
    seed: int = 1
    """Random seed of first weights and order."""
    # The machine's business: no part of what the run is.
    checkpoint_every: Seconds | None = None
    """Time between checkpoints; default: a minute, or more, so that they take 1 % of the time."""
    milestones: list[Share] = Field([])
    """Shares of the steps whose checkpoints are never deleted."""
    micro_batch: Tokens | None = None
    """Tokens that each process computes at a time; default: its share, with a base about 2,048."""
    recompute: bool = False
    """Compute layers again in the backward pass: less memory, a third more work."""
    shards: int | None = Field(default=None, ge=1)
    """Processes that share one copy of the model, such as a node's; default: all of them."""
    offload: bool = False
    """Whether weights, gradients and moments stay in the host's memory: less on a GPU, slower."""
    compile: Literal["auto", "on", "off"] = "auto"
    """`auto`: where the run is long enough to regain the compiler's time."""
    threads: int | None = Field(default=None, ge=1)
    """Threads of each process; default: the fastest number in a short trial."""
    track: str | None = None
    """Tracker that gets a copy of the logs during training: `tensorboard` or `wandb`."""

    @field_validator("track")
    @classmethod
    def _known_tracker(cls, value: str | None) -> str | None:
        try:
            return value and registry("tracker").find(value).name
        except UserError as error:
            refuse(error.what, error.hint, (), value)

    @field_validator("replay", "max_forgetting", mode="before")
    @classmethod
    def _by_language(cls, value: Any) -> Any:
        return by_language(value)

    @field_validator("base", mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        return {"model": value} if isinstance(value, str) else value

    @property
    def base_model(self) -> str | None:
        """The run, folder or model of the hub to continue from."""
        return self.base.model if self.base else None

    @property
    def shares(self) -> dict[str, float]:
        """Of the mixture by language; none where a rule is still to be applied."""
        return {} if isinstance(self.mixture, MixtureRule) else self.mixture

    @property
    def trains_part(self) -> bool:
        """Whether some weights stay the base's."""
        return self.trainable != "all"

    @property
    def trains_embeddings(self) -> bool:
        """Whether input and output embeddings are among what is trained."""
        if isinstance(self.trainable, LowRank):
            return self.trainable.embeddings
        return self.trainable in ("all", "embeddings")

    @field_validator("run")
    @classmethod
    def _readable(cls, value: str | None) -> str | None:
        return None if value is None else readable_name(value)

    @model_validator(mode="after")
    def _consistent(self) -> "Train":
        context, micro_batch = self.context, self.micro_batch
        given = self.model_fields_set if self.base else set(Train.model_fields)
        for what, size in (("batch", self.batch), ("micro-batch", micro_batch)):
            if not {"context", what.replace("-", "_")} <= given:
                continue  # what is left out follows from the base
            if isinstance(size, int) and size % context:
                near = max(round(size / context), 1) * context
                reason = f"a {what} of {size} tokens is not a whole number of contexts of {context}"
                raise ValueError(f"{reason} tokens; the nearest is `{near} tokens`")
        if "batch" in given and isinstance(self.batch, int) and (micro_batch or 0) > self.batch:
            reason = f"a micro-batch of {micro_batch} tokens is more than the batch"
            raise ValueError(f"{reason} of {self.batch} tokens that it is a part of")
        if 0.0 in self.milestones:
            raise ValueError("at 0% nothing is learned yet; the first milestone comes after it")
        self.schedule.check(self.warmup, self.min_learning_rate)
        self.optimizer.moments(self.optimizer_states)  # refuses a type that it does not know
        if 0 < self.min_learning_rate < _LEAST_FINAL:
            peaks = self.learning_rate
            peak = max(peaks.values()) if isinstance(peaks, dict) else peaks
            given, share = self.min_learning_rate, self.min_learning_rate / peak
            raise ValueError(
                f"`min_learning_rate` is a share of the peak, and {given:g} of it is next to zero; "
                f"a rate of {given:g} is `{share * 100:.3g}%` of the peak of {peak:g}"
            )
        if self.shares and abs(sum(self.shares.values()) - 1) > 1e-6:
            whole = sum(self.shares.values())
            advice = "lower a share" if whole > 1 else "raise a share"
            raise ValueError(f"the mixture adds up to {whole * 100:.4g}%, not 100%: {advice}")
        return self
