"""What a run is handed over with to another trainer, and the registry of those trainers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from tongues.core.errors import UserError
from tongues.core.registry import Registry
from tongues.recipe import LowRank
from tongues.train.optimizer import BETAS, EPSILON
from tongues.use.export.base import ReadyRun

Form = Literal["packed", "shards", "documents"]

BASE, DATA, HELD_OUT, OUT = "base", "data", "held_out", "out"  # names in the folder
_SAMPLES = 4096  # tokens that a GPU is given at a time until its user says more; chosen: fits 24 GB


@dataclass(frozen=True, slots=True)
class Handover:
    """A run in plain values, for the settings of another trainer."""

    name: str
    steps: int
    samples: int  # of a step
    micro_samples: int  # that a device computes at a time
    context: int
    learning_rate: float
    final: float  # rate at the end, as a share of the peak
    warmup: int  # steps
    schedule: str
    decay: int  # steps of the last part of `wsd`
    weight_decay: float
    seed: int
    shares: Mapping[str, float]  # of all tokens
    base_languages: tuple[str, ...]
    held_out: tuple[str, ...]  # languages with held-out text
    evaluate_every: int  # steps
    rank: int | None  # of low-rank updates
    padded: bool = True  # whether padding has a token of its own
    betas: tuple[float, float] = BETAS
    epsilon: float = EPSILON
    clip: float = 1.0  # norm of a gradient, as in our own steps

    @property
    def accumulated(self) -> int:
        """Micro-batches of a step on one device."""
        return self.samples // self.micro_samples


class Engine:
    """A trainer that a run can be handed over to: a subclass for each."""

    name: ClassVar[str]
    summary: ClassVar[str]
    form: ClassVar[Form]  # of the text that it reads
    labels: ClassVar[bool] = False  # whether its samples come with labels and a mask
    low_rank: ClassVar[bool] = False  # whether it trains low-rank updates
    schedules: ClassVar[tuple[str, ...]] = ("cosine", "linear")

    def files(self, run: Handover) -> dict[str, str]:
        """What its settings are, by name of file."""
        raise NotImplementedError

    def command(self, run: Handover, *, nodes: int) -> str:
        """How it is started in that folder, on one node or on several."""
        raise NotImplementedError

    def limits(self, run: Handover) -> list[str]:
        """What it does otherwise than our own loop; a sentence each."""
        return []


ENGINES: Registry[type[Engine]] = Registry("engine", "tongues.engines")


def handover(ready: ReadyRun, engine: type[Engine]) -> Handover:
    """A run's values; a UserError where the engine can't do what is asked."""
    plan, derived, settings = ready.plan, ready.derived, ready.plan.settings
    samples = derived.batch // settings.context
    low_rank = settings.trainable if isinstance(settings.trainable, LowRank) else None
    if settings.trainable != "all" and not (low_rank and engine.low_rank):
        what = f"{engine.name} is not handed a run that trains a part of its weights"
        raise UserError(what, where="train.trainable", hint="leave it out, or train it here")
    if settings.budget.seconds is not None:
        what = "a budget in time has no number of steps"
        raise UserError(what, where="train.budget", hint="give it in tokens")
    name = settings.schedule.name
    if name not in engine.schedules:
        what = f"{engine.name} has no schedule that falls as `{name}` does"
        hint = f"choose {' or '.join(engine.schedules)}"
        raise UserError(what, where="train.schedule", hint=hint)
    if settings.optimizer.name != "adamw":
        what = f"`{settings.optimizer.name}` is not handed over: engines have their own names"
        raise UserError(what, where="train.optimizer", hint="leave it out for AdamW")
    micro = min(samples, max(1, _SAMPLES // settings.context))
    decay = getattr(settings.schedule, "decay", 0.0)
    return Handover(
        name=plan.name,
        steps=derived.steps,
        samples=samples,
        micro_samples=max(n for n in range(1, micro + 1) if samples % n == 0),
        context=settings.context,
        learning_rate=derived.learning_rate,
        final=settings.min_learning_rate,
        warmup=max(1, round(settings.warmup * derived.steps)),
        schedule=name,
        decay=round(decay * derived.steps),
        weight_decay=settings.weight_decay,
        seed=settings.seed,
        shares=plan.shares,
        base_languages=plan.roles.base_languages,
        held_out=tuple(settings.eval_languages or ready.here.tokens.languages),
        evaluate_every=max(1, derived.steps // settings.num_evals),
        rank=low_rank.lora.rank if low_rank else None,
    )


def yaml_text(values: Mapping[str, Any], note: str) -> str:
    """Settings as YAML below a comment."""
    from io import StringIO

    from ruamel.yaml import YAML

    stream, yaml = StringIO(), YAML()
    yaml.default_flow_style, yaml.width = False, 100
    yaml.dump(dict(values), stream)
    return f"# {note}\n{stream.getvalue()}"
