"""What a run is handed over with to another trainer, and the registry of those trainers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, ClassVar, Literal

from tongues.core.errors import UserError
from tongues.core.registry import Registry
from tongues.train.optimizer import BETAS, EPSILON
from tongues.use.export.base import ReadyRun

Form = Literal["packed", "shards", "documents"]

PLACES = {"base": "base", "data": "data", "held_out": "held_out", "out": "out"}  # in the folder
_GPUS, _NODE = 32, 8  # of the example for several nodes, and of each; chosen
_MICRO = 4096  # tokens that a GPU computes at a time, until its user says more; chosen
_CLIP = 1.0  # norm of a gradient, as in our own steps


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
    half: bool  # whether products may be bfloat16
    padded: bool = True  # whether padding has a token of its own

    def values(self) -> dict[str, Any]:
        """For templates, with what follows and what all runs have."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__}
        optimizer = {"beta1": BETAS[0], "beta2": BETAS[1], "epsilon": EPSILON, "clip": _CLIP}
        accumulated = self.samples // self.micro_samples
        gpus = several_gpus(accumulated)
        more: dict[str, float] = {"accumulated": accumulated, "of_each": accumulated // gpus}
        more |= {"nodes": -(-gpus // _NODE), "gpus": min(gpus, _NODE)}
        more |= {"width": self.context + 1, "batch": self.samples * self.context}
        more["lowest"] = self.final * self.learning_rate
        return own | optimizer | more | PLACES


def several_gpus(micro_batches: int) -> int:
    """The most GPUs of whole nodes, or of a part of one, that share a step's micro-batches."""
    counts = [*range(1, _NODE), *range(_NODE, _GPUS + 1, _NODE)]
    return max(count for count in counts if micro_batches % count == 0)


class Recipient:
    """A trainer that a run can be handed over to: a subclass for each."""

    name: ClassVar[str]
    summary: ClassVar[str]
    form: ClassVar[Form]  # of the text that it reads
    template: ClassVar[Path]  # of its settings
    settings: ClassVar[str]  # name of their file
    start: ClassVar[str]  # on one node, in the folder
    start_many: ClassVar[str]  # on each of several; `$RENDEZVOUS` is where they meet
    labels: ClassVar[bool] = False  # whether its samples come with labels and a mask
    schedules: ClassVar[tuple[str, ...]] = ("cosine", "linear", "wsd")
    families: ClassVar[tuple[str, ...]] = ()  # of bases that it trains; none: any
    divided: ClassVar[str] = "On several GPUs it divides the batch by itself."

    def values(self, run: Handover) -> dict[str, str]:
        """Of its template, besides those of the run."""
        return {}

    def limits(self, run: Handover) -> list[str]:
        """What it does otherwise than our own loop; a sentence each."""
        return []


ENGINES: Registry[type[Recipient]] = Registry("engine", "tongues.engines")


class _Form(Template):
    """A file with `@names` to be filled in."""

    delimiter = "@"


def filled(template: str, values: Mapping[str, Any]) -> str:
    """A template with its values."""
    return _Form(template).substitute(values)


def handover(ready: ReadyRun, engine: type[Recipient]) -> Handover:
    """A run's values; a UserError where the engine can't do what is asked."""
    plan, derived, settings = ready.plan, ready.derived, ready.plan.settings
    if settings.trains_part:
        what = f"{engine.name} is not handed a run that trains a part of its weights"
        raise UserError(what, where="train.trainable", hint="leave it out, or train it here")
    if settings.budget.seconds is not None:
        what = "a budget in time has no number of steps"
        raise UserError(what, where="train.budget", hint="give it in tokens")
    for key, kind, known in (
        ("schedule", settings.schedule.name, engine.schedules),
        ("optimizer", settings.optimizer.name, ("adamw",)),
        ("base", family := derived.anatomy.family, engine.families or (family,)),
    ):
        if kind not in known:
            what = f"{engine.name} is not handed a run with {key} `{kind}`"
            hint = f"it takes {', '.join(known)}"
            raise UserError(what, where=f"train.{key}", hint=hint)
    samples = derived.batch // settings.context
    most = min(samples, max(1, _MICRO // settings.context))
    return Handover(
        name=plan.name,
        steps=derived.steps,
        samples=samples,
        micro_samples=max(n for n in range(1, most + 1) if samples % n == 0),
        context=settings.context,
        learning_rate=derived.learning_rate,
        final=settings.min_learning_rate,
        warmup=max(1, round(settings.warmup * derived.steps)),
        schedule=settings.schedule.name,
        decay=round(getattr(settings.schedule, "decay", 0.0) * derived.steps),
        weight_decay=settings.weight_decay,
        seed=settings.seed,
        shares=plan.shares,
        base_languages=plan.roles.base_languages,
        held_out=tuple(settings.eval_languages or ready.here.tokens.languages),
        evaluate_every=max(1, derived.steps // settings.num_evals),
        half=settings.precision != "float32",
    )
